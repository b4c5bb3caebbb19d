/* Lines of traces: read as they are written, and refused when they are not whole. */
#include "analysis/trace.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static char line[4096];

static int parse(const char *text, struct ag_trace_event *event)
{
    const char *problem = NULL;
    snprintf(line, sizeof line, "%s", text);
    int result = ag_trace_parse(line, event, &problem);
    EXPECT((result == 0) == (problem == NULL));
    return result;
}

static void a_launch_is_read(void)
{
    static const unsigned char bytes[] = {0x00, 0x01, 0xfe, 0xff, 0x80};
    struct ag_trace_event e;
    EQUAL(parse("K\t12.5\t3\t7\t42\t1,2,3\t32,4,1\t1024\t4=2,6=-1\t0001,fe,ff80", &e), 0);
    EQUAL(e.kind, AG_TRACE_LAUNCH);
    EXPECT(e.time_us == 12.5);
    EQUAL(e.thread, 3);
    EQUAL(e.stream, 7);
    EQUAL(e.function, 42);
    EXPECT(e.grid[0] == 1 && e.grid[1] == 2 && e.grid[2] == 3);
    EXPECT(e.block[0] == 32 && e.block[1] == 4 && e.block[2] == 1);
    EQUAL(e.shared, 1024);
    EQUAL(e.attribute_count, 2);
    EXPECT(e.attributes[0].id == 4 && e.attributes[0].value == 2);
    EXPECT(e.attributes[1].id == 6 && e.attributes[1].value == 0xffffffffu);
    EQUAL(e.argument_count, 3);
    if (EQUAL(e.argument_bytes, sizeof bytes))
        EXPECT(memcmp(e.arguments, bytes, sizeof bytes) == 0);
}

static void a_launch_may_lack_attributes_and_arguments(void)
{
    struct ag_trace_event e;
    EQUAL(parse("K\t1\t0\t0\t1\t1,1,1\t1,1,1\t0\t-\t", &e), 0);
    EQUAL(e.attribute_count, 0);
    EQUAL(e.argument_count, 0);
    EQUAL(parse("K\t1\t0\t0\t1\t1,1,1\t1,1,1\t0\t\t00", &e), 0);
    EQUAL(e.attribute_count, 0);
    EQUAL(e.argument_bytes, 1);
    EQUAL(parse("K\t1\t0\t0\t1\t1,1,1\t1,1,1\t0\t-", &e), 0);
    EQUAL(e.argument_count, 0);
}

static void the_other_lines_are_read(void)
{
    struct ag_trace_event e;
    EQUAL(parse("F\t9\t_Z3addPfi\t8,4", &e), 0);
    EXPECT(e.kind == AG_TRACE_FUNCTION && e.function == 9 && strcmp(e.name, "_Z3addPfi") == 0);
    EQUAL(e.argument_count, 2);
    EQUAL(e.argument_bytes, 12);
    EQUAL(parse("F\t0\tnone\t", &e), 0);
    EQUAL(e.argument_count, 0);
    EQUAL(parse("I\t0.5\t12", &e), 0);
    EXPECT(e.kind == AG_TRACE_ITERATION && e.iteration == 12);
    EQUAL(parse("C\t7\t2\tcuMemsetD8Async\t7f0000001000,0,FF,10,0", &e), 0);
    EXPECT(e.kind == AG_TRACE_CALL && e.thread == 2 && strcmp(e.name, "cuMemsetD8Async") == 0);
    EQUAL(e.call_count, 5);
    EXPECT(e.call[0] == 0x7f0000001000u && e.call[2] == 255 && e.call[3] == 16);
    EQUAL(parse("S\t8.5\t3\t16\t12\tevent", &e), 0);
    EXPECT(e.kind == AG_TRACE_EARLY && e.stream == 16 && e.iteration == 12 && strcmp(e.name, "event") == 0);
    EQUAL(parse("C\t7\t2\tcuCtxSynchronize\t", &e), 0);
    EQUAL(e.call_count, 0);
}

static void the_fifth_argument_may_say_what_could_be_held(void)
{
    static const struct {
        const char *line;
        enum ag_trace_hold hold;
    } lines[] = {
            {"C\t7\t2\tcuMemcpyAsync\t1,2,3,4,61675f686f6c6431", AG_TRACE_HOLD_NO},
            {"C\t7\t2\tcuMemcpyAsync\t1,2,3,4,61675f686f6c6432", AG_TRACE_HOLD_YES},
            {"C\t7\t2\tcuMemcpyAsync\t1,2,3,4,61675f686f6c6433", AG_TRACE_HOLD_FROM_HOST},
            {"C\t7\t2\tcuMemcpyAsync\t1,2,3,4,61675f686f6c6434", AG_TRACE_HOLD_UNSAID},
            {"C\t7\t2\tcuMemcpyAsync\t1,2,3,4,61675f686f6c6430", AG_TRACE_HOLD_UNSAID},
            {"C\t7\t2\tcuMemcpyAsync\t1,2,3,4,0", AG_TRACE_HOLD_UNSAID},
            {"C\t7\t2\tcuMemcpyAsync\t1,2,3,4,7f0000000000", AG_TRACE_HOLD_UNSAID},
            {"C\t7\t2\tcuMemcpyAsync\t1,2,3,61675f686f6c6432", AG_TRACE_HOLD_UNSAID},
    };
    struct ag_trace_event e;
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        EQUAL(parse(lines[i].line, &e), 0);
        EQUAL(e.hold, lines[i].hold);
    }
}

static void malformed_lines_are_refused(void)
{
    static const char *const lines[] = {
            "",
            "K",
            "X\t1\t2",
            "KK\t1\t0\t0\t1\t1,1,1\t1,1,1\t0\t-\t",
            "K\tnow\t0\t0\t1\t1,1,1\t1,1,1\t0\t-\t",
            "K\t1\t-1\t0\t1\t1,1,1\t1,1,1\t0\t-\t",
            "K\t1\t0\tx\t1\t1,1,1\t1,1,1\t0\t-\t",
            "K\t1\t0\t0\t4294967296\t1,1,1\t1,1,1\t0\t-\t",
            "K\t1\t0\t0\t1\t1,1\t1,1,1\t0\t-\t",
            "K\t1\t0\t0\t1\t1,1,1\t1,1,1,1\t0\t-\t",
            "K\t1\t0\t0\t1\t1,1,1\t1,1,1\t\t-\t",
            "K\t1\t0\t0\t1\t1,1,1\t1,1,1\t0\t4\t",
            "K\t1\t0\t0\t1\t1,1,1\t1,1,1\t0\t4=x\t",
            "K\t1\t0\t0\t1\t1,1,1\t1,1,1\t0\t-\t0",
            "K\t1\t0\t0\t1\t1,1,1\t1,1,1\t0\t-\t00,0",
            "K\t1\t0\t0\t1\t1,1,1\t1,1,1\t0\t-\t00,",
            "K\t1\t0\t0\t1\t1,1,1\t1,1,1\t0\t-\t0g",
            "K\t1\t0\t0\t1\t1,1,1\t1,1,1\t0\t-\t00\t00",
            "F\t1\t\t8",
            "F\tx\tname\t8",
            "F\t1\tname\t8,",
            "F\t1\tname\t99999999",
            "F\t1\tname\t8\t8",
            "I\t1",
            "I\t1\t",
            "I\t1\t2\t3",
            "S\t1\t0\t16\t2",
            "S\t1\t0\t16\t\tevent",
            "S\t1\t0\tx\t2\tevent",
            "S\t1\t0\t16\t2\tevent\t",
            "C\t1\t0",
            "C\t1\t0\t",
            "C\t1\t0\tcuInit\tg",
            "C\t1\t0\tcuInit\t0,1,2,3,4,5",
            "C\t1\t0\tcuInit\t10000000000000000",
    };
    struct ag_trace_event e;
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
        if (parse(lines[i], &e) != -EINVAL)
            unit_expect(false, lines[i], __FILE__, __LINE__);
}

static void a_cut_off_launch_is_refused_or_does_not_fit(void)
{
    static const char whole[] = "K\t12.5\t3\t7\t42\t1,2,3\t32,4,1\t1024\t4=2\t00010203,0405";
    struct ag_trace_event function, e;
    const char *problem;
    static char declaration[] = "F\t42\tname\t4,2";
    EQUAL(ag_trace_parse(declaration, &function, &problem), 0);
    EQUAL(parse(whole, &e), 0);
    EQUAL(ag_trace_fits(&function, &e), 0);
    for (size_t length = 0; length < sizeof whole - 1; length++) {
        char cut[sizeof whole];
        memcpy(cut, whole, length);
        cut[length] = '\0';
        EXPECT(parse(cut, &e) != 0 || ag_trace_fits(&function, &e) != 0);
    }
}

static const struct unit_case cases[] = {
        {"a launch is read", a_launch_is_read},
        {"a launch may lack attributes and arguments", a_launch_may_lack_attributes_and_arguments},
        {"the other lines are read", the_other_lines_are_read},
        {"the fifth argument may say what could be held", the_fifth_argument_may_say_what_could_be_held},
        {"malformed lines are refused", malformed_lines_are_refused},
        {"a cut-off launch is refused or does not fit", a_cut_off_launch_is_refused_or_does_not_fit},
};

UNIT_MAIN(cases)
