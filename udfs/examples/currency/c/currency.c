/* Turns payments into euros, at the rate that was valid at their time. */
#include "wasmstream.h"

typedef struct { ws_header header; ws_string currency; ws_bigint cents; } payment;
typedef struct { ws_header header; ws_string currency; ws_timestamp since; ws_double rate; } news;
typedef struct { ws_header header; ws_string currency; ws_timestamp since; } rate_key;
typedef struct { ws_header header; ws_double rate; } rates; /* all there have been, by currency and by when they began */
typedef struct { ws_header header; ws_bigint euro_cents; ws_string currency; ws_bigint cents; } euros;
enum { EUROS, UNKNOWN }; /* the outputs */

/* Finds the rate of a currency at the op's time. Keys are in the order of their bytes, which is not that of time. */
static int find_rate(ws_op *o, ws_view currency, double *rate) {
  int64_t newest = 0;
  int is_found = 0;
  for (ws_scan s = ws_scan_of(o, 0); ws_next(&s);) {
    const rate_key *key = ws_scan_key(s, rate_key);
    int64_t since = ws_get(key, since);
    if (!ws_same(ws_text(key, currency), currency) || since > ws_time(o) || (is_found && since <= newest)) continue;
    newest = since;
    *rate = ws_get(ws_scan_value(s, rates), rate);
    is_found = 1;
  }
  return is_found;
}

static void currency_on_record(ws_op *o, const payment *in) {
  double rate = 0;
  if (!find_rate(o, ws_text(in, currency), &rate)) {
    payment *out = ws_emit(o, UNKNOWN, payment);
    ws_set_view(out, currency, ws_text(in, currency));
    ws_set(out, cents, ws_get(in, cents));
    return;
  }
  euros *out = ws_emit(o, EUROS, euros);
  ws_set(out, euro_cents, (int64_t)(rate * (double)ws_get(in, cents)));
  ws_set_view(out, currency, ws_text(in, currency));
  ws_set(out, cents, ws_get(in, cents));
}

static void currency_on_broadcast(ws_op *o, const news *in) {
  rate_key *key = ws_row(rate_key);
  ws_set_view(key, currency, ws_text(in, currency));
  ws_set(key, since, ws_get(in, since));
  if (ws_is_null(in, rate)) {
    ws_map_remove(o, 0, key);
    return;
  }
  rates *value = ws_row(rates);
  ws_set(value, rate, ws_get(in, rate));
  ws_map_put(o, 0, key, value);
}
WS_IGNORE(currency, on_timer)
WS_IGNORE_KEYS(currency, news)
WS_BROADCAST_PROCESS(currency, payment, news)
WS_MODULE(WS_FUNCTION(0, currency))
