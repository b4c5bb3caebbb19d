/* autograph trace simulate. */
#include "tools/json.h"
#include "tools/tool.h"
#include "tools/trace.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct result {
    struct ag_sim_totals totals; /* of the last play */
    /* of all plays: what was launched and replayed, what observe mode would have foretold, and from how many ops */
    struct {
        uint64_t launches, replayed, graphs, observed;
        struct ag_sampling_forecast foretold;
    } sampled;
};

struct simulation {
    bool json, details, sampled;
    long plays, hold_us, seed;
    struct ag_cost cost;
    struct ag_sim_params params;
    char **paths;
    struct result *results; /* of each path; owned */
    size_t count;
};

static const char *const eager_names[AG_SIM_EAGER_COUNT] = {
        [AG_SIM_FIRST] = "first",
        [AG_SIM_PASSED] = "passed",
        [AG_SIM_UNKNOWN] = "unknown",
};

static void print_cost(void)
{
    double us;
    const char *name, *what;
    for (size_t i = 0; (name = ag_cost_entry(i, &us, &what)); i++)
        printf("%-17s %6.2f us  %s\n", name, us, what);
}

/* NAME=VALUE of the policy's parameters; false when it is none. */
static bool set_parameter(struct ag_sim_params *params, const char *word)
{
    const struct {
        const char *name;
        unsigned *number;
        double *real;
        unsigned most;
    } known[] = {
            {"chunk_min", &params->cut.min, NULL, AG_CHUNK_MAX},
            {"chunk_max", &params->cut.max, NULL, AG_CHUNK_MAX},
            {"chunk_bits", &params->cut.bits, NULL, 8},
            {"chunk_ramp", &params->cut.ramp, NULL, AG_CHUNK_MAX},
            {"build_after", &params->book.build_after, NULL, 1000},
            {"patch_us", NULL, &params->book.patch_us, 0},
            {"build_us", NULL, &params->book.build_us, 0},
            {"saved_us", NULL, &params->book.saved_us, 0},
            {"launch_us", NULL, &params->book.launch_us, 0},
            {"node_us", NULL, &params->book.node_us, 0},
            {"savings_max", NULL, &params->book.savings_max, 0},
            {"advance", NULL, &params->book.advance, 0},
            {"learning_us", NULL, &params->book.learning_us, 0},
            {"later", NULL, &params->book.later, 0},
            {"payback_full", NULL, &params->book.payback_full, 0},
            {"payback", NULL, &params->book.payback, 0},
            {"admission", NULL, &params->book.admission, 0},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        size_t length = strlen(known[i].name);
        if (strncmp(word, known[i].name, length) || word[length] != '=')
            continue;
        const char *value = word + length + 1;
        char *end;
        long number;
        if (known[i].real) {
            *known[i].real = strtod(value, &end);
            return end != value && !*end && *known[i].real >= 0;
        }
        if (!ag_tool_number(value, 0, known[i].most, &number))
            return false;
        *known[i].number = (unsigned)number;
        return params->cut.min <= AG_CHUNK_MAX && params->cut.max >= 1;
    }
    return false;
}

static int simulate_parse(int argc, char **argv, struct simulation *s)
{
    static const struct option longs[] = {
            {"json", no_argument, NULL, 'j'},
            {"details", no_argument, NULL, 'd'},
            {"cost", no_argument, NULL, 'c'},
            {"plays", required_argument, NULL, 'p'},
            {"hold-us", required_argument, NULL, 'h'},
            {"seed", required_argument, NULL, 's'},
            {"set", required_argument, NULL, 'S'},
            {"sampled", no_argument, NULL, 'f'},
            {NULL, 0, NULL, 0},
    };
    int option;
    while ((option = ag_tool_getopt(argc, argv, "", longs)) != -1) {
        switch (option) {
        case 'j':
            s->json = true;
            break;
        case 'd':
            s->details = true;
            break;
        case 'f':
            s->sampled = true;
            break;
        case 'c':
            print_cost();
            return -1;
        case 'p':
            if (!ag_tool_number(optarg, 1, 1000, &s->plays))
                return ag_tool_fail(AG_TOOL_USAGE, "trace: --plays takes a number from 1 to 1000, not '%s'", optarg);
            break;
        case 'h':
            if (!ag_tool_number(optarg, 1, 1000000, &s->hold_us))
                return ag_tool_fail(AG_TOOL_USAGE, "trace: --hold-us takes a number from 1 to 1000000, not '%s'",
                                    optarg);
            break;
        case 's':
            if (!ag_tool_number(optarg, 0, 1000000, &s->seed))
                return ag_tool_fail(AG_TOOL_USAGE, "trace: --seed takes a number from 0 to 1000000, not '%s'", optarg);
            break;
        case 'S':
            if (!set_parameter(&s->params, optarg))
                return ag_tool_fail(AG_TOOL_USAGE, "trace: '%s' is no setting of the policy; see autograph help trace",
                                    optarg);
            break;
        default:
            return AG_TOOL_USAGE;
        }
    }
    if (optind >= argc)
        return ag_tool_fail(AG_TOOL_USAGE, "trace simulate: no trace given; see autograph help trace");
    return 0;
}

/* The same trace as observe mode would see it. */
static int simulate_sampled(const struct simulation *s, const struct ag_trace_file *file, struct result *result)
{
    struct ag_sampling sampling = {0};
    struct ag_trace_player *player = ag_trace_player_make(&s->params, (double)s->hold_us, (uint64_t)s->seed, &sampling);
    int status = player ? 0 : -ENOMEM;
    for (long i = 0; i < s->plays && !status; i++)
        status = ag_trace_player_play(player, file);
    if (!status) {
        const struct ag_sim_totals *totals = &ag_trace_player_sim(player)->totals;
        result->sampled.observed = totals->counts.launches;
        result->sampled.foretold = ag_sampling_foretell(&sampling, totals, result->sampled.launches);
    }
    ag_trace_player_free(player);
    return status;
}

static int simulate_file(const struct simulation *s, const char *path, struct result *result)
{
    struct ag_trace_file file;
    int status = ag_trace_file_read(&file, path);
    struct ag_trace_player *player = NULL;
    if (!status) {
        player = ag_trace_player_make(&s->params, (double)s->hold_us, (uint64_t)s->seed, NULL);
        status = player ? 0 : -ENOMEM;
    }
    for (long i = 0; i < s->plays && !status; i++) {
        struct ag_sim *sim = ag_trace_player_sim(player);
        memset(&sim->totals, 0, sizeof sim->totals);
        status = ag_trace_player_play(player, &file);
        result->totals = sim->totals;
        result->sampled.launches += sim->totals.counts.launches;
        result->sampled.replayed += sim->totals.counts.replayed;
        result->sampled.graphs += sim->totals.counts.graph_launches;
    }
    if (s->sampled && !status)
        status = simulate_sampled(s, &file, result);
    ag_trace_player_free(player);
    ag_trace_file_release(&file);
    return status == -ENOMEM ? ag_tool_fail(AG_TOOL_FAILED, "out of memory") : status;
}

/* Means over the traces that launch anything. */
struct means {
    double coverage, us, worst_coverage, worst_us;
    size_t count;
};

static struct means means_of(const struct simulation *s)
{
    struct means m = {.worst_coverage = 1};
    for (size_t i = 0; i < s->count; i++) {
        const struct ag_cost_counts *counts = &s->results[i].totals.counts;
        if (counts->launches == 0)
            continue;
        double coverage = ag_cost_coverage(counts), us = ag_cost_per_launch(&s->cost, counts);
        m.count++;
        m.coverage += coverage;
        m.us += us;
        m.worst_coverage = coverage < m.worst_coverage ? coverage : m.worst_coverage;
        m.worst_us = us > m.worst_us ? us : m.worst_us;
    }
    if (m.count > 0) {
        m.coverage /= (double)m.count;
        m.us /= (double)m.count;
    }
    return m;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static double mean_length(const struct ag_cost_counts *counts)
{
    return counts->graph_launches != 0 ? (double)counts->replayed / (double)counts->graph_launches : 0;
}

static void print_details(const struct simulation *s, int width)
{
    printf("\n%-*s %9s %9s %9s", width, "file", "chunks", "exact", "ops/graph");
    for (int k = 0; k < AG_SIM_EAGER_COUNT; k++)
        printf(" %9s", eager_names[k]);
    printf(" %9s\n", "flushes");
    for (size_t i = 0; i < s->count; i++) {
        const struct ag_sim_totals *t = &s->results[i].totals;
        printf("%-*s %9llu %9llu %9.1f", width, base_name(s->paths[i]), (unsigned long long)t->chunks,
               (unsigned long long)t->exact, mean_length(&t->counts));
        for (int k = 0; k < AG_SIM_EAGER_COUNT; k++)
            printf(" %9llu", (unsigned long long)t->eager[k]);
        printf(" %9llu\n", (unsigned long long)t->flushes);
    }
}

static void print_sampled(const struct simulation *s, int width)
{
    printf("\n%-*s %9s %9s %9s %9s %9s %15s\n", width, "all plays", "launches", "observed", "replayed", "foretold",
           "graphs", "graphs_foretold");
    for (size_t i = 0; i < s->count; i++) {
        const struct result *r = &s->results[i];
        printf("%-*s %9llu %9llu %9llu %9llu %9llu %15llu\n", width, base_name(s->paths[i]),
               (unsigned long long)r->sampled.launches, (unsigned long long)r->sampled.observed,
               (unsigned long long)r->sampled.replayed, (unsigned long long)r->sampled.foretold.replayed,
               (unsigned long long)r->sampled.graphs, (unsigned long long)r->sampled.foretold.graphs);
    }
}

static void print_table(const struct simulation *s)
{
    int width = 4;
    for (size_t i = 0; i < s->count; i++) {
        int length = (int)strlen(base_name(s->paths[i]));
        width = length > width ? length : width;
    }
    struct means m = means_of(s);
    printf("%-*s %9s %9s %9s %10s %9s %22s\n", width, "file", "launches", "coverage", "patched", "retargeted", "builds",
           "modelled_us_per_launch");
    for (size_t i = 0; i < s->count; i++) {
        const struct ag_cost_counts *c = &s->results[i].totals.counts;
        if (c->launches == 0) {
            printf("%-*s %9d %9s %9d %10d %9d %22s\n", width, base_name(s->paths[i]), 0, "-", 0, 0, 0, "-");
            continue;
        }
        printf("%-*s %9llu %9.4f %9llu %10llu %9llu %22.4f\n", width, base_name(s->paths[i]),
               (unsigned long long)c->launches, ag_cost_coverage(c), (unsigned long long)c->patched,
               (unsigned long long)c->retargeted, (unsigned long long)c->builds, ag_cost_per_launch(&s->cost, c));
    }
    printf("%-*s %9s %9.4f %9s %10s %9s %22.4f\n", width, "mean", "", m.coverage, "", "", "", m.us);
    printf("%-*s %9s %9.4f %9s %10s %9s %22.4f\n", width, "worst", "", m.count > 0 ? m.worst_coverage : 0, "", "", "",
           m.worst_us);
    if (s->details)
        print_details(s, width);
    if (s->sampled)
        print_sampled(s, width);
}

static void print_json(const struct simulation *s)
{
    struct means m = means_of(s);
    fputs("{\"traces\":[", stdout);
    for (size_t i = 0; i < s->count; i++) {
        const struct ag_sim_totals *t = &s->results[i].totals;
        const struct ag_cost_counts *c = &t->counts;
        fputs(i ? ",\n {\"file\":" : "\n {\"file\":", stdout);
        ag_json_print_string(stdout, base_name(s->paths[i]));
        printf(",\"launches\":%llu,\"coverage\":%.6f,\"patched\":%llu,\"retargeted\":%llu,\"builds\":%llu,"
               "\"modelled_us_per_launch\":%.6f,\"replayed\":%llu,\"graph_launches\":%llu,\"chunks\":%llu,"
               "\"exact\":%llu,\"flushes\":%llu,\"eager\":{",
               (unsigned long long)c->launches, ag_cost_coverage(c), (unsigned long long)c->patched,
               (unsigned long long)c->retargeted, (unsigned long long)c->builds, ag_cost_per_launch(&s->cost, c),
               (unsigned long long)c->replayed, (unsigned long long)c->graph_launches, (unsigned long long)t->chunks,
               (unsigned long long)t->exact, (unsigned long long)t->flushes);
        for (int k = 0; k < AG_SIM_EAGER_COUNT; k++)
            printf("%s\"%s\":%llu", k ? "," : "", eager_names[k], (unsigned long long)t->eager[k]);
        fputs("}", stdout);
        const struct result *r = &s->results[i];
        if (s->sampled)
            printf(",\"sampled\":{\"launches\":%llu,\"observed\":%llu,\"replayed\":%llu,\"replayable\":%llu,"
                   "\"graph_launches\":%llu,\"replayable_graphs\":%llu}",
                   (unsigned long long)r->sampled.launches, (unsigned long long)r->sampled.observed,
                   (unsigned long long)r->sampled.replayed, (unsigned long long)r->sampled.foretold.replayed,
                   (unsigned long long)r->sampled.graphs, (unsigned long long)r->sampled.foretold.graphs);
        fputs("}", stdout);
    }
    printf("\n],\n\"mean\":{\"coverage\":%.6f,\"modelled_us_per_launch\":%.6f},\n"
           "\"worst\":{\"coverage\":%.6f,\"modelled_us_per_launch\":%.6f}}\n",
           m.coverage, m.us, m.count > 0 ? m.worst_coverage : 0, m.worst_us);
}

int ag_trace_simulate(int argc, char **argv)
{
    struct simulation s = {.plays = 3, .cost = ag_cost_defaults(), .params = ag_sim_defaults()};
    int status = simulate_parse(argc, argv, &s);
    if (status)
        return status < 0 ? AG_TOOL_OK : status;
    s.paths = argv + optind;
    s.results = calloc((size_t)(argc - optind), sizeof s.results[0]);
    if (!s.results)
        return ag_tool_fail(AG_TOOL_FAILED, "out of memory");
    for (int i = optind; i < argc && !status; i++)
        status = simulate_file(&s, argv[i], &s.results[s.count++]);
    if (!status && s.json)
        print_json(&s);
    else if (!status)
        print_table(&s);
    free(s.results);
    return status;
}
