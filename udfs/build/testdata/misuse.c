/* Functions that ask for what is not there, for native_test.go. */
#include "wasmstream.h"

typedef struct { ws_header header; ws_bigint n; } number;

static void evictor_evict(ws_op *o) {
  if (ws_is_after(o)) ws_evict(o, ws_count(o));
  ws_element(o, 7);
}
WS_EVICTOR(evictor)

static void process_on_record(ws_op *o, const number *in) {
  switch (ws_get(in, n)) {
    case 0: (void)ws_state(o, 1, number); break;
    case 1: (void)ws_edit(o, 2, number); break;
    case 2: (void)ws_replace(o, 1, number); break;
    default: ws_clear(o, 1234567890);
  }
}
WS_IGNORE(process, on_timer)
WS_PROCESS(process, number)

static ws_decision trigger_on_element(ws_op *o, const ws_header *in) { (void)o, (void)in; return WS_CONTINUE; }
WS_GO_ON(trigger, on_event_time)
WS_GO_ON(trigger, on_processing_time)
static void trigger_on_merge(ws_op *o) { (void)ws_merged(o, 2, 0, number); }
WS_IGNORE(trigger, clear)
WS_TRIGGER(trigger, ws_header)

/* An accumulator for the other macro, both ways. */
static void fixed_create(number *after) { (void)after; }
static void fixed_add(const number *acc, const number *in, number *after) { (void)acc, (void)in, (void)after; }
static void fixed_merge(const number *acc, const number *other, number *after) { (void)acc, (void)other, (void)after; }
static void fixed_result(const number *acc, number *out) { (void)acc, (void)out; }
WS_AGGREGATE_OF_TEXTS(fixed, number, number, number)

typedef struct { ws_header header; ws_string text; } text;
static void texts_create(text *acc) { (void)acc; }
static void texts_add(text *acc, const number *in) { (void)acc, (void)in; }
static void texts_merge(text *acc, const text *other) { (void)acc, (void)other; }
static void texts_result(const text *acc, number *out) { (void)acc, (void)out; }
WS_AGGREGATE(texts, number, text, number)

/* Types that are called like what the macros have inside. */
typedef struct { ws_header header; ws_int n; } acc;
typedef number op;
typedef number now;
static void named_create(acc *a) { (void)a; }
static void named_add(acc *a, const op *in) { ws_set(a, n, (int32_t)ws_get(in, n)); a->n.rest = ws_get(in, n) == 13; }
static void named_merge(acc *a, const acc *b) { (void)a, (void)b; }
static void named_result(const acc *a, now *out) { ws_set(out, n, ws_get(a, n)); }
WS_AGGREGATE(named, op, acc, now)

typedef number a;
static void least_reduce(ws_op *o, const a *x, const a *y, a *out) { (void)o; ws_set(out, n, ws_get(x, n) < ws_get(y, n) ? ws_get(x, n) : ws_get(y, n)); }
WS_REDUCE(least, a)

typedef number i;
static void many_flat_map(ws_op *o, const i *in) {
  for (int64_t n = 0; n < ws_get(in, n); n++) ws_set(ws_emit(o, 0, number), n, n);
}
WS_FLAT_MAP(many, i)

/* Structs with a column more than the manifest has. */
typedef struct { ws_header header; ws_bigint n, m; } wide;
static void wider_on_record(ws_op *o, const number *in) {
  if (ws_get(in, n) == 0) (void)ws_edit(o, 0, wide);
  else (void)ws_replace(o, 0, wide);
}
WS_IGNORE(wider, on_timer)
WS_PROCESS(wider, number)
static void widest_create(wide *x) { ws_set(x, m, 1); }
static void widest_add(wide *x, const number *in) { (void)x, (void)in; }
static void widest_merge(wide *x, const wide *y) { (void)x, (void)y; }
static void widest_result(const wide *x, number *out) { (void)x, (void)out; }
WS_AGGREGATE(widest, number, wide, number)

WS_MODULE(WS_FUNCTION(0, evictor) WS_FUNCTION(1, process) WS_FUNCTION(2, trigger) WS_FUNCTION(3, fixed) WS_FUNCTION(4, texts)
  WS_FUNCTION(5, named) WS_FUNCTION(6, least) WS_FUNCTION(7, many) WS_FUNCTION(8, wider)
  WS_FUNCTION(9, widest))
