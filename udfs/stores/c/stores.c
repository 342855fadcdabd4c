/* Functions whose states are reached by calls of the host: a map, a list, broadcast state, and those of windows. */
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
WS_IGNORE(tally, on_timer)
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
WS_IGNORE(rated, on_timer)
static void rated_on_key(ws_op *o, const payment *in) { (void)in; ws_clear(o, RATED_COUNT); }
WS_BROADCAST_PROCESS(rated, payment, payment)

/* varied: fires at an amount that came into the window before (a list), and purges at the third record of a user (a map).
 * Windows that merge take both in. */
enum { VARIED_AMOUNTS, VARIED_USERS };
static int64_t varied_count(ws_op *o, const person *key, int64_t more) {
  const number *count = ws_map_get(o, VARIED_USERS, key, number);
  number *value = ws_row(number);
  ws_set(value, n, more + (count ? ws_get(count, n) : 0));
  ws_map_put(o, VARIED_USERS, key, value);
  return ws_get(value, n);
}
static person *varied_key(ws_view user) {
  person *key = ws_row(person);
  ws_set_view(key, user, user);
  return key;
}
static ws_decision varied_on_element(ws_op *o, const payment *in) {
  int again = 0;
  for (ws_scan s = ws_scan_of(o, VARIED_AMOUNTS); ws_next(&s);) {
    if (ws_get(ws_scan_value(s, number), n) == ws_get(in, amount)) again = WS_FIRE;
  }
  number *value = ws_row(number);
  ws_set(value, n, ws_get(in, amount));
  ws_list_add(o, VARIED_AMOUNTS, value);
  int third = varied_count(o, varied_key(ws_text(in, user)), 1) == 3;
  return (ws_decision)(again | (third ? WS_PURGE : 0));
}
WS_GO_ON(varied, on_event_time)
WS_GO_ON(varied, on_processing_time)
static void varied_on_merge(ws_op *o) {
  ws_list_merge(o, VARIED_AMOUNTS);
  for (uint32_t w = 0; w < ws_count(o); w++) {
    for (ws_scan s = ws_scan_of(o, ws_merged_state(w, VARIED_USERS)); ws_next(&s);) {
      varied_count(o, varied_key(ws_text(ws_scan_key(s, person), user)), ws_get(ws_scan_value(s, number), n));
    }
  }
}
WS_IGNORE(varied, clear)
WS_TRIGGER(varied, payment)

WS_MODULE(WS_FUNCTION(0, tally) WS_FUNCTION(1, rated) WS_FUNCTION(2, varied))
