/* What `autograph ab` measured; shared by the measuring (ab.c) and the printing (ab_report.c). */
#ifndef AG_AB_H
#define AG_AB_H

#include "tools/launch.h"
#include "tools/output.h"
#include "tools/process.h"

#define AG_AB_PAIRS 1000

enum ag_ab_side { AG_AB_PLAIN, AG_AB_SHIM, AG_AB_SIDES };

/* AG_AB_LAUNCH: microseconds a launch, of --within. */
enum ag_ab_quantity { AG_AB_LAUNCH, AG_AB_METRIC, AG_AB_WALL, AG_AB_USER, AG_AB_SYSTEM, AG_AB_RSS, AG_AB_QUANTITIES };

enum ag_ab_verdict { AG_AB_SAME, AG_AB_OUTPUT_DIFFERS, AG_AB_STATUS_DIFFERS };

struct ag_ab {
    struct ag_launch launch; /* the shimmed side */
    struct ag_output_filter filter;
    int metric; /* index in the filter of the expression that holds the metric, or -1 */
    const char *metric_text;
    const char *json;
    long pairs, warmup;
    long within; /* milliseconds of a span of one run that are compared, or 0: runs are compared */
    double values[AG_AB_QUANTITIES][AG_AB_SIDES][AG_AB_PAIRS];
    struct ag_process_run reference; /* first plain run: what every other run is compared with */
    bool have_reference;
    enum ag_ab_verdict verdict[AG_AB_SIDES];
    int different_status;
};

/* Runs the program once without the shim, for its output, and once with the shim in spans of `within` milliseconds that
 * hold and do not hold in turn. Each two neighbouring spans with launches are a pair. Returns 0 or an exit status. */
int ag_ab_within(struct ag_ab *ab);

/* Runs one side once; `pair` is where its times go, negative for nowhere. Returns 0 or an exit status. */
int ag_ab_run(struct ag_ab *ab, enum ag_ab_side side, long pair);

/* Prints the table, writes the JSON. Returns 0 or an exit status. */
int ag_ab_report(const struct ag_ab *ab);

#endif
