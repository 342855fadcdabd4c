/* How many prices a window has: the least that a function can do, for figures of what a call costs. */
#include "wasmstream.h"

typedef struct { ws_header header; ws_bigint price; } input;
typedef struct { ws_header header; ws_bigint n; } total;

static void count_create(total *acc) { (void)acc; }

static void count_add(total *acc, const input *in) {
  if (!ws_is_null(in, price)) ws_set(acc, n, ws_get(acc, n) + 1);
}

static void count_merge(total *acc, const total *other) { ws_set(acc, n, ws_get(acc, n) + ws_get(other, n)); }

/* The accumulator is the result. */
static void count_result(const total *acc, total *out) { *out = *acc; }

WS_AGGREGATE(count, input, total, total)
WS_MODULE(WS_FUNCTION(0, count))
