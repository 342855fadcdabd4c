/* The aggregate function of the hourly-delays job: how many flights, the sum of their delays and the longest one. */
#include "wasmstream.h"

typedef struct { ws_header header; ws_int delay; } input;
typedef struct { ws_header header; ws_bigint flights, delay_sum; ws_int delay_max; } totals;

static void delays_create(totals *acc) {
  ws_set_null(acc, delay_sum);
  ws_set_null(acc, delay_max);
}

/* Adds a sum and a maximum that are there. A null sum reads as 0. */
static inline void include(totals *acc, int64_t sum, int32_t longest) {
  if (ws_is_null(acc, delay_max) || longest > ws_get(acc, delay_max)) ws_set(acc, delay_max, longest);
  ws_set(acc, delay_sum, ws_get(acc, delay_sum) + sum);
}

static void delays_add(totals *acc, const input *in) {
  ws_set(acc, flights, ws_get(acc, flights) + 1);
  if (!ws_is_null(in, delay)) include(acc, ws_get(in, delay), ws_get(in, delay));
}

static void delays_merge(totals *acc, const totals *other) {
  ws_set(acc, flights, ws_get(acc, flights) + ws_get(other, flights));
  if (!ws_is_null(other, delay_max)) include(acc, ws_get(other, delay_sum), ws_get(other, delay_max));
}

/* The accumulator is the result. */
static void delays_result(const totals *acc, totals *out) { *out = *acc; }

WS_AGGREGATE(delays, input, totals, totals)
WS_MODULE(WS_FUNCTION(0, delays))
