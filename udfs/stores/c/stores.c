/* Functions whose states are reached by calls of the host: a map, a list, and broadcast state. */
#include "wasmstream.h"

typedef struct { ws_header header; ws_string user; ws_bigint amount; } payment;
typedef struct { ws_header header; ws_bigint n; } number;
typedef struct { ws_header header; ws_string user; } person;
typedef struct { ws_header header; ws_string user; ws_bigint n; } told;
typedef struct { ws_header header; ws_bigint amount, other; } pairs;

/* tally: sums by user (a map) and all amounts (a list) of a key; an amount of 0 tells them all, and one of -1 forgets
 * them. */
enum { TALLY_SUMS, TALLY_AMOUNTS };
static void tally_tell(ws_op *o) {
  for (ws_scan s = ws_scan_of(o, TALLY_SUMS); ws_next(&s);) {
    told *out = ws_emit(o, 0, told);
    ws_set_view(out, user, ws_text(ws_scan_key(s, person), user));
    ws_set(out, n, ws_get(ws_scan_value(s, number), n));
  }
  for (ws_scan s = ws_scan_of(o, TALLY_AMOUNTS); ws_next(&s);) {
    number *out = ws_emit(o, 1, number);
    ws_set(out, n, ws_get(ws_scan_value(s, number), n));
  }
}
static void tally_on_record(ws_op *o, const payment *in) {
  if (ws_get(in, amount) == 0) tally_tell(o);
  if (ws_get(in, amount) == -1) {
    ws_remove_all(o, TALLY_SUMS);
    ws_remove_all(o, TALLY_AMOUNTS);
  }
  if (ws_get(in, amount) <= 0) return;
  person *key = ws_row(person);
  ws_set_view(key, user, ws_text(in, user));
  const number *sum = ws_map_get(o, TALLY_SUMS, key, number);
  number *value = ws_row(number);
  ws_set(value, n, ws_get(in, amount) + (sum ? ws_get(sum, n) : 0));
  ws_map_put(o, TALLY_SUMS, key, value);
  ws_set(value, n, ws_get(in, amount));
  ws_list_add(o, TALLY_AMOUNTS, value);
}
static void tally_on_timer(ws_op *o) { (void)o; }
WS_PROCESS(tally, payment)

/* rated: amounts times the rate of their user, which comes by broadcast; a rate of 0 takes the rate away and, of every
 * key, the count of its payments. */
enum { RATED_COUNT = 0, RATED_RATES = 1 };
static void rated_on_record(ws_op *o, const payment *in) {
  number *count = ws_edit(o, RATED_COUNT, number);
  ws_set(count, n, ws_get(count, n) + 1);
  person *key = ws_row(person);
  ws_set_view(key, user, ws_text(in, user));
  const number *rate = ws_map_get(o, RATED_RATES, key, number);
  pairs *out = ws_emit(o, 0, pairs);
  ws_set(out, amount, ws_get(count, n));
  if (rate) ws_set(out, other, ws_get(in, amount) * ws_get(rate, n));
  else ws_set_null(out, other);
}
static void rated_on_broadcast(ws_op *o, const payment *in) {
  person *key = ws_row(person);
  ws_set_view(key, user, ws_text(in, user));
  if (ws_get(in, amount) == 0) {
    ws_map_remove(o, RATED_RATES, key);
    ws_visit_keys(o);
    return;
  }
  number *rate = ws_row(number);
  ws_set(rate, n, ws_get(in, amount));
  ws_map_put(o, RATED_RATES, key, rate);
}
static void rated_on_timer(ws_op *o) { (void)o; }
static void rated_on_key(ws_op *o, const payment *in) { (void)in; ws_clear(o, RATED_COUNT); }
WS_BROADCAST_PROCESS(rated, payment, payment)

WS_MODULE(WS_FUNCTION(0, tally) WS_FUNCTION(1, rated))
