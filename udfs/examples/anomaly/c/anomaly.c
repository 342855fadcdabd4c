/* Finds values that are far from a moving mean, weighted exponentially. */
#include "wasmstream.h"

typedef struct { ws_header header; ws_double value; } input;
typedef struct { ws_header header; ws_string sensor; } key;
typedef struct { ws_header header; ws_bigint n; ws_double mean, variance; } moving;
typedef struct { ws_header header; ws_string sensor; ws_double value, mean; } odd;
typedef struct { ws_header header; ws_double share, deviations; } parameters;

enum { ENOUGH = 3 }; /* how many values there must have been */
static double share, limit; /* the weight of a new value, and the square of how many deviations are far */

static void anomaly_open(ws_op *o, const parameters *p) {
  (void)o;
  share = ws_get(p, share);
  limit = ws_get(p, deviations) * ws_get(p, deviations);
}

static void anomaly_on_record(ws_op *o, const input *in) {
  if (ws_is_null(in, value)) return;
  moving *s = ws_edit(o, 0, moving);
  double v = ws_get(in, value), difference = v - ws_get(s, mean);
  ws_set(s, n, ws_get(s, n) + 1);
  if (ws_get(s, n) == 1) {
    ws_set(s, mean, v);
    return;
  }
  if (ws_get(s, n) > ENOUGH && difference * difference > limit * ws_get(s, variance)) {
    odd *out = ws_emit(o, 0, odd);
    ws_set_view(out, sensor, ws_text(ws_key(o, key), sensor));
    ws_set(out, value, v);
    ws_set(out, mean, ws_get(s, mean));
  }
  ws_set(s, variance, (1 - share) * (ws_get(s, variance) + share * (difference * difference)));
  ws_set(s, mean, ws_get(s, mean) + share * difference);
}
WS_IGNORE(anomaly, on_timer)
WS_PROCESS(anomaly, input)
WS_MODULE(WS_FUNCTION_WITH(0, anomaly, parameters))
