/* The cost model: each price counts once, and where it should. */
#include "analysis/cost.h"
#include "tests/unit/unit.h"

#include <math.h>
#include <string.h>

static bool near(double got, double want)
{
    return fabs(got - want) < 1e-9;
}

static void the_model_is_the_one_stated(void)
{
    static const struct {
        const char *name;
        double us;
    } stated[] = {{"eager", 4.3},  {"held", 0.12},      {"launch", 2.1},   {"launch_patched", 0.06},
                  {"patch", 0.36}, {"patch_kib", 0.07}, {"retarget", 1.2}, {"launch_retargeted", 1.2},
                  {"build", 10.0}};
    size_t count = sizeof stated / sizeof stated[0];
    const char *name, *what;
    double us;
    for (size_t i = 0; i < count; i++) {
        name = ag_cost_entry(i, &us, &what);
        if (!EXPECT(name != NULL))
            return;
        EXPECT(strcmp(name, stated[i].name) == 0);
        EXPECT(us == stated[i].us);
        EXPECT(what[0] != '\0');
    }
    EXPECT(ag_cost_entry(count, &us, &what) == NULL);
    struct ag_cost cost = ag_cost_defaults();
    EXPECT(cost.eager == 4.3 && cost.held == 0.12 && cost.build == 10.0 && cost.launch_retargeted == 1.2);
}

static void each_event_has_its_price(void)
{
    struct ag_cost cost = ag_cost_defaults();
    EXPECT(near(ag_cost_of(&cost, &(struct ag_cost_counts){.eager = 10}), 43));
    EXPECT(near(ag_cost_of(&cost, &(struct ag_cost_counts){.held = 100}), 12));
    EXPECT(near(ag_cost_of(&cost, &(struct ag_cost_counts){.graph_launches = 10}), 21));
    EXPECT(near(ag_cost_of(&cost, &(struct ag_cost_counts){.patched = 10}), 4.2));
    EXPECT(near(ag_cost_of(&cost, &(struct ag_cost_counts){.patched = 10, .patched_bytes = 4096}), 4.2 + 0.28));
    EXPECT(near(ag_cost_of(&cost, &(struct ag_cost_counts){.built_nodes = 5, .builds = 1}), 50));
    /* a retargeted node pays its own price instead of that of a patch */
    EXPECT(near(ag_cost_of(&cost, &(struct ag_cost_counts){.patched = 3, .retargeted = 2}), 0.42 + 4.8));
    /* what is counted for other reasons costs nothing by itself */
    EXPECT(ag_cost_of(&cost, &(struct ag_cost_counts){.launches = 9, .replayed = 9}) == 0);
}

static void shares_of_nothing_are_zero(void)
{
    struct ag_cost cost = ag_cost_defaults();
    struct ag_cost_counts none = {0}, some = {.launches = 8, .held = 6, .replayed = 6, .eager = 2, .graph_launches = 1};
    EXPECT(ag_cost_per_launch(&cost, &none) == 0);
    EXPECT(ag_cost_coverage(&none) == 0);
    EXPECT(ag_cost_coverage(&some) == 0.75);
    EXPECT(near(ag_cost_per_launch(&cost, &some), (2 * 4.3 + 6 * 0.12 + 2.1) / 8));
}

static const struct unit_case cases[] = {
        {"the model is the one stated", the_model_is_the_one_stated},
        {"each event has its price", each_event_has_its_price},
        {"shares of nothing are zero", shares_of_nothing_are_zero},
};

UNIT_MAIN(cases)
