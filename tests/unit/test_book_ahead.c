/* Building ahead: paid from what replaying saved, bounded by it. */
#include "tests/unit/book.h"

static struct ag_book_params usual;

static void set_up_saving(void)
{
    usual = ag_book_defaults();
    set_up_with(&usual);
}

static void set_up_without_advance(void)
{
    set_up_saving();
    the.book.savings = 0;
}

/* Launches a chunk that is known until the savings cover so many microseconds. */
static void save(double us)
{
    unsigned char records[BYTES];
    memcpy(records, set_of(1), BYTES);
    for (unsigned i = 0; the.book.savings < us && i < 100000; i++)
        step_at(0, LENGTH, records);
    EXPECT(the.book.savings >= us);
}

/* A chunk of LENGTH tokens that no other number gives. */
static const struct ag_token *const *chunk_of(unsigned number)
{
    for (unsigned k = 0; k < LENGTH; k++)
        the.tokens[48 + k] = the.tokens[number >> 4 * (k % 4) & 15];
    return the.tokens + 48;
}

static void what_never_repeats_costs_no_more_than_the_advance(void)
{
    set_up_saving();
    double income = 0;
    for (unsigned i = 0; i < 1000; i++) {
        chunk_of(i);
        if (step_at(48, LENGTH, set_of(i)).action == AG_BOOK_BUILD)
            income += usual.saved_us * LENGTH;
    }
    EXPECT(the.built > 0);
    EXPECT(the.built * usual.build_us * LENGTH <= usual.advance + income);
    EXPECT(the.book.savings < usual.build_us * LENGTH);
    tear_down();
    usual.advance = 0;
    set_up_with(&usual);
    for (unsigned i = 0; i < 1000; i++) {
        chunk_of(i);
        EQUAL(step_at(48, LENGTH, set_of(i)).action, AG_BOOK_EAGER);
    }
    EQUAL(the.built, 0);
    tear_down();
}

static void a_new_chunk_is_built_at_once_when_savings_cover_it(void)
{
    set_up_without_advance();
    double cost = usual.build_us * LENGTH;
    save(cost);
    double savings = the.book.savings;
    EXPECT(savings < 2 * cost);
    EQUAL(step_at(8, LENGTH, set_of(2)).action, AG_BOOK_BUILD);
    /* it was paid for, and its own launch counts as one */
    double left = savings - cost + usual.saved_us * LENGTH;
    EXPECT(the.book.savings > left - 1e-6 && the.book.savings < left + 1e-6);
    EQUAL(step_at(16, LENGTH, set_of(3)).action, AG_BOOK_EAGER);
    tear_down();
}

static void what_does_not_repeat_costs_no_more_than_the_savings(void)
{
    set_up_without_advance();
    save(usual.savings_max);
    unsigned before = the.built;
    for (unsigned i = 1; i < 5000; i++) {
        chunk_of(i);
        step_at(48, LENGTH, set_of(i));
    }
    /* each launch of a fresh instance earns again, so the sum is a geometric one */
    double spent = (double)(the.built - before) * usual.build_us * LENGTH;
    double earned = (double)(the.built - before) * usual.saved_us * LENGTH;
    EXPECT(the.built > before);
    EXPECT(spent <= usual.savings_max + earned);
    EXPECT(spent - earned > usual.savings_max - usual.build_us * LENGTH);
    tear_down();
}

static void savings_are_bounded_and_count_less_after_learning(void)
{
    set_up_without_advance();
    unsigned char records[BYTES];
    memcpy(records, set_of(1), BYTES);
    step(records);
    step(records);
    while (the.book.earned < usual.learning_us) {
        double earned = the.book.earned;
        step(records);
        EXPECT(the.book.earned == earned + usual.saved_us * LENGTH);
        EXPECT(the.book.savings <= usual.savings_max);
    }
    EXPECT(the.book.savings == usual.savings_max);
    double earned = the.book.earned;
    step(records);
    double rest = the.book.earned - earned - usual.later * usual.saved_us * LENGTH;
    EXPECT(rest > -1e-6 && rest < 1e-6);
    tear_down();
}

/* The usual chunk has one instance; a set comes back after `interval` other ops. The number of builds that follow. */
static unsigned builds_for_interval(unsigned interval, double savings)
{
    unsigned char records[BYTES], others[BYTES];
    set_up_without_advance();
    memcpy(records, set_of(1), BYTES);
    memcpy(others, set_of(2), BYTES);
    step_at(0, LENGTH, records);
    step_at(0, LENGTH, records);
    save(savings);
    the.book.savings = savings;
    unsigned before = the.built;
    step_at(0, LENGTH, others); /* patched, and remembered */
    step_at(0, LENGTH, records);
    the.book.ops += interval;
    the.book.savings = savings;
    step_at(0, LENGTH, others);
    unsigned built = the.built - before;
    tear_down();
    return built;
}

static void a_set_that_comes_back_soon_gets_an_instance_at_once(void)
{
    usual = ag_book_defaults();
    double cost = usual.build_us * LENGTH, saved = usual.patch_us * LENGTH;
    /* two chunks of the test itself lie between */
    unsigned limit = (unsigned)(saved * usual.payback / cost) - 2 * LENGTH;
    EQUAL(builds_for_interval(limit - LENGTH, cost), 1);
    EQUAL(builds_for_interval(limit + LENGTH, cost), 0);
    EQUAL(builds_for_interval(limit - LENGTH, cost - 1), 0);
    /* with as much saved as is kept, the payback may take longer */
    unsigned limit_full = (unsigned)(saved * usual.payback_full / cost) - 2 * LENGTH;
    EQUAL(builds_for_interval(limit_full - LENGTH, usual.savings_max), 1);
    EQUAL(builds_for_interval(limit_full + LENGTH, usual.savings_max), 0);
    EQUAL(builds_for_interval(limit_full - LENGTH, usual.savings_max - 1), 0);
}

static const struct unit_case cases[] = {
        {"what never repeats costs no more than the advance", what_never_repeats_costs_no_more_than_the_advance},
        {"a new chunk is built at once when savings cover it", a_new_chunk_is_built_at_once_when_savings_cover_it},
        {"what does not repeat costs no more than the savings", what_does_not_repeat_costs_no_more_than_the_savings},
        {"savings are bounded, and count less after learning", savings_are_bounded_and_count_less_after_learning},
        {"a set that comes back soon gets an instance at once", a_set_that_comes_back_soon_gets_an_instance_at_once},
};

UNIT_MAIN(cases)
