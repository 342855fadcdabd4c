/* Finds the items that come most often, by a sketch (space-saving): each of eight counters has an item; an item without a
 * counter takes that of the rarest, and counts on from there. */
#include "wasmstream.h"

enum { COUNTERS = 8 };
typedef struct { ws_bigint item, n; } counter; /* whose n is 0 has no item */
typedef struct { ws_header header; ws_bigint item; } input;
typedef struct { ws_header header; counter of[COUNTERS]; } sketch;
typedef struct { ws_header header; ws_bigint first, first_n, second, second_n, third, third_n; } output;

static void top_create(sketch *acc) { (void)acc; }

/* Counts an item so many times. No counter is ever null. */
static void include(sketch *acc, int64_t item, int64_t times) {
  counter *rarest = acc->of;
  for (counter *c = acc->of; c < acc->of + COUNTERS; c++) {
    if (c->n.value > 0 && c->item.value == item) {
      c->n.value += times;
      return;
    }
    if (c->n.value < rarest->n.value) rarest = c;
  }
  rarest->item.value = item;
  rarest->n.value += times;
}

static void top_add(sketch *acc, const input *in) {
  if (!ws_is_null(in, item)) include(acc, ws_get(in, item), 1);
}
static void top_merge(sketch *acc, const sketch *other) {
  for (int i = 0; i < COUNTERS; i++) {
    if (other->of[i].n.value > 0) include(acc, other->of[i].item.value, other->of[i].n.value);
  }
}

/* The counter that counts most and was not taken, of those alike the one of the smaller item; 0 if there is none. */
static const counter *next_best(const sketch *acc, uint32_t *taken) {
  const counter *best = 0;
  for (const counter *c = acc->of; c < acc->of + COUNTERS; c++) {
    if (c->n.value == 0 || *taken >> (c - acc->of) & 1) continue;
    if (!best || c->n.value > best->n.value || (c->n.value == best->n.value && c->item.value < best->item.value)) best = c;
  }
  if (best) *taken |= 1u << (best - acc->of);
  return best;
}

#define PUT(place) \
  if ((best = next_best(acc, &taken))) { \
    ws_set(out, place, best->item.value); \
    ws_set(out, place##_n, best->n.value); \
  } else { \
    ws_set_null(out, place); \
    ws_set_null(out, place##_n); \
  }

static void top_result(const sketch *acc, output *out) {
  const counter *best;
  uint32_t taken = 0;
  PUT(first)
  PUT(second)
  PUT(third)
}
WS_AGGREGATE(top, input, sketch, output)
WS_MODULE(WS_FUNCTION(0, top))
