/* A function of each role: what a host asks, once over, and examples as small as they can be. */
#include "wasmstream.h"

typedef struct { ws_header header; ws_string user; ws_bigint amount; } payment;
typedef struct { ws_header header; ws_bigint factor; } times;
typedef struct { ws_header header; ws_bigint size; } width;
typedef struct { ws_header header; ws_bigint n; } number;
typedef struct { ws_header header; ws_string user; } person;
typedef struct { ws_header header; ws_string user; ws_string text; } line;

/* scale: the amount times a factor. */
static int64_t factor;
static void scale_open(ws_op *o, const times *p) { (void)o; factor = ws_get(p, factor); }
static void scale_map(ws_op *o, const payment *in, payment *out) {
  (void)o;
  if (ws_is_null(in, user)) ws_set_null(out, user);
  else ws_set_view(out, user, ws_text(in, user));
  if (ws_is_null(in, amount)) ws_set_null(out, amount);
  else ws_set(out, amount, ws_get(in, amount) * factor);
}
WS_MAP(scale, payment, payment)

/* positive: keeps amounts above 0, and fails at the least of all amounts. */
static int positive_filter(ws_op *o, const payment *in) {
  (void)o;
  if (ws_get(in, amount) == INT64_MIN) WS_FAIL("an amount that cannot be");
  return ws_get(in, amount) > 0;
}
WS_FILTER(positive, payment)

/* split: as many rows as the amount says, the last one to the output `last`. */
static void split_flat_map(ws_op *o, const payment *in) {
  for (int64_t i = 1; i <= ws_get(in, amount); i++) {
    number *out = ws_emit(o, i == ws_get(in, amount), number);
    ws_set(out, n, i);
  }
}
WS_FLAT_MAP(split, payment)

/* by-user: the key is the user. */
static void by_user_key(ws_op *o, const payment *in, person *out) {
  (void)o;
  if (ws_is_null(in, user)) ws_set_null(out, user);
  else ws_set_view(out, user, ws_text(in, user));
}
WS_KEY(by_user, payment, person)

/* stamped: the amount is the time, and every tenth is a watermark. */
static int64_t stamped_timestamp(ws_op *o, const payment *in) {
  int64_t time = ws_get(in, amount);
  if (time % 10 == 0) ws_send_watermark(o, time);
  return time;
}
WS_TIMESTAMP(stamped, payment)

/* total: the sum of amounts. */
static void total_create(number *acc) { (void)acc; }
static void total_add(number *acc, const payment *in) { ws_set(acc, n, ws_get(acc, n) + ws_get(in, amount)); }
static void total_merge(number *acc, const number *other) { ws_set(acc, n, ws_get(acc, n) + ws_get(other, n)); }
static void total_result(const number *acc, number *out) { ws_set(out, n, ws_get(acc, n)); }
WS_AGGREGATE(total, payment, number, number)

/* largest: the payment with the larger amount, of two alike the first. */
static void largest_reduce(ws_op *o, const payment *a, const payment *b, payment *out) {
  (void)o;
  const payment *of = ws_get(b, amount) > ws_get(a, amount) ? b : a;
  if (ws_is_null(of, user)) ws_set_null(out, user);
  else ws_set_view(out, user, ws_text(of, user));
  if (ws_is_null(of, amount)) ws_set_null(out, amount);
  else ws_set(out, amount, ws_get(of, amount));
}
WS_REDUCE(largest, payment)

/* content: how many elements, their sum, how often the window fired before (a state of the window), and how many windows
 * of the key fired (a state of the key). */
typedef struct { ws_header header; ws_bigint start, elements, sum, before, windows; } contents;
enum { CONTENT_FIRED, CONTENT_WINDOWS };
static void content_apply(ws_op *o, const payment *in) {
  (void)in;
  number *fired = ws_edit(o, CONTENT_FIRED, number), *windows = ws_edit(o, CONTENT_WINDOWS, number);
  if (ws_get(fired, n) == 0) ws_set(windows, n, ws_get(windows, n) + 1);
  int64_t sum = 0;
  for (uint32_t i = 0; i < ws_count(o); i++) sum += ws_get(ws_element_row(o, i, payment), amount);
  contents *out = ws_emit(o, 0, contents);
  ws_set(out, start, ws_start(o));
  ws_set(out, elements, ws_count(o));
  ws_set(out, sum, sum);
  ws_set(out, before, ws_get(fired, n));
  ws_set(out, windows, ws_get(windows, n));
  ws_set(fired, n, ws_get(fired, n) + 1);
}
static void content_clear(ws_op *o) { ws_clear(o, CONTENT_FIRED); }
WS_APPLY(content, payment)

/* described: the aggregate's result with its window. */
typedef struct { ws_header header; ws_bigint start, end, n; } describes;
static void described_apply(ws_op *o, const number *in) {
  describes *out = ws_emit(o, 0, describes);
  ws_set(out, start, ws_start(o));
  ws_set(out, end, ws_end(o));
  ws_set(out, n, ws_get(in, n));
}
WS_IGNORE(described, clear)
WS_APPLY(described, number)

/* tumbling: windows of a size. Time before 1970 rounds down, too. */
static int64_t size;
static void tumbling_open(ws_op *o, const width *p) { (void)o; size = ws_get(p, size); }
static void tumbling_assign(ws_op *o, const ws_header *in) {
  (void)in;
  int64_t behind = ws_time(o) % size;
  int64_t start = ws_time(o) - (behind < 0 ? behind + size : behind);
  ws_assign(o, start, start + size);
}
WS_ASSIGNER(tumbling, ws_header)

/* gap: session windows. */
static int64_t gap;
static void gap_open(ws_op *o, const width *p) { (void)o; gap = ws_get(p, size); }
static void gap_assign(ws_op *o, const ws_header *in) { (void)in; ws_assign(o, ws_time(o), ws_time(o) + gap); }
WS_ASSIGNER(gap, ws_header)

/* every: fires each time so many elements came, and at the window's end; then purges. */
static int64_t each;
static void every_open(ws_op *o, const width *p) { (void)o; each = ws_get(p, size); }
static ws_decision every_on_element(ws_op *o, const payment *in) {
  (void)in;
  if (ws_last(o) > ws_watermark(o)) ws_set_timer(o, WS_EVENT, ws_last(o));
  number *seen = ws_edit(o, 0, number);
  ws_set(seen, n, ws_get(seen, n) + 1);
  if (ws_get(seen, n) < each) return WS_CONTINUE;
  ws_clear(o, 0);
  return WS_FIRE;
}
static ws_decision every_on_event_time(ws_op *o) { return ws_time(o) == ws_last(o) ? WS_FIRE_AND_PURGE : WS_CONTINUE; }
WS_GO_ON(every, on_processing_time)
static void every_on_merge(ws_op *o) {
  int64_t sum = 0;
  for (uint32_t w = 0; w < ws_count(o); w++) {
    const number *seen = ws_merged(o, w, 0, number);
    if (seen) sum += ws_get(seen, n);
  }
  if (sum > 0) {
    number *seen = ws_edit(o, 0, number);
    ws_set(seen, n, sum);
  }
  if (ws_last(o) > ws_watermark(o)) ws_set_timer(o, WS_EVENT, ws_last(o));
}
static void every_clear(ws_op *o) {
  ws_clear(o, 0);
  ws_delete_timer(o, WS_EVENT, ws_last(o));
}
WS_TRIGGER(every, payment)

/* newest: before the function, all but the last elements leave; after it, those of amount 0. */
static int64_t kept;
static void newest_open(ws_op *o, const width *p) { (void)o; kept = ws_get(p, size); }
static void newest_evict(ws_op *o) {
  for (uint32_t i = 0; i < ws_count(o); i++) {
    if (ws_is_after(o) ? ws_get(ws_element_row(o, i, payment), amount) == 0 : i + kept < ws_count(o)) ws_evict(o, i);
  }
}
WS_EVICTOR(newest)

/* idle: counts a user's payments, and says how many there were when there was none for a while; a negative amount forgets
 * the user. */
typedef struct { ws_header header; ws_bigint n; ws_timestamp due; } idling;
typedef struct { ws_header header; ws_string user; ws_bigint n; } idled;
static int64_t patience;
static void idle_open(ws_op *o, const width *p) { (void)o; patience = ws_get(p, size); }
static void idle_on_record(ws_op *o, const payment *in) {
  idling *s = ws_edit(o, 0, idling);
  if (ws_get(s, n) > 0) ws_delete_timer(o, WS_EVENT, ws_get(s, due));
  if (ws_get(in, amount) < 0) {
    ws_clear(o, 0);
    return;
  }
  ws_set(s, n, ws_get(s, n) + 1);
  ws_set(s, due, ws_time(o) + patience);
  ws_set_timer(o, WS_EVENT, ws_get(s, due));
}
static void idle_on_timer(ws_op *o) {
  const idling *s = ws_state(o, 0, idling);
  if (!s || ws_domain(o) != WS_EVENT) return;
  idled *out = ws_emit(o, 0, idled);
  ws_set_view(out, user, ws_text(ws_key(o, person), user));
  ws_set(out, n, ws_get(s, n));
  ws_clear(o, 0);
}
WS_PROCESS(idle, payment)

/* joined: all users that were seen, in one string: a state of variable width, and a processing timer that tells it. */
static void joined_on_record(ws_op *o, const payment *in) {
  const person *before = ws_state(o, 0, person);
  ws_view user = ws_text(in, user), all = before ? ws_text(before, user) : WS_TEXT("");
  char text[128];
  uint32_t n = 0;
  for (uint32_t i = 0; i < all.length && n < sizeof text; i++) text[n++] = all.bytes[i];
  if (before && n < sizeof text) text[n++] = ',';
  for (uint32_t i = 0; i < user.length && n < sizeof text; i++) text[n++] = user.bytes[i];
  person *after = ws_replace(o, 0, person);
  ws_set_text(after, user, text, n);
  if (!before) ws_set_timer(o, WS_PROCESSING, ws_clock(o) + 1000);
}
static void joined_on_timer(ws_op *o) {
  const person *s = ws_state(o, 0, person);
  if (!s) return;
  person *out = ws_emit(o, 0, person);
  ws_set_view(out, user, ws_text(s, user));
  ws_clear(o, 0);
}
WS_PROCESS(joined, payment)

/* latest: each payment of the first input with the last amount of the second. */
typedef struct { ws_header header; ws_bigint amount, other; } pairs;
static void latest_on_record(ws_op *o, const payment *in) {
  const number *other = ws_state(o, 0, number);
  pairs *out = ws_emit(o, 0, pairs);
  ws_set(out, amount, ws_get(in, amount));
  if (other) ws_set(out, other, ws_get(other, n));
  else ws_set_null(out, other);
}
static void latest_on_second(ws_op *o, const payment *in) {
  number *other = ws_edit(o, 0, number);
  ws_set(other, n, ws_get(in, amount));
}
WS_IGNORE(latest, on_timer)
WS_CO_PROCESS(latest, payment, payment)

/* matched: the two amounts of a pair, null where a side is missing. */
static void matched_join(ws_op *o, const payment *left, const payment *right) {
  pairs *out = ws_emit(o, 0, pairs);
  if (left) ws_set(out, amount, ws_get(left, amount));
  else ws_set_null(out, amount);
  if (right) ws_set(out, other, ws_get(right, amount));
  else ws_set_null(out, other);
}
WS_JOIN(matched, payment, payment)

/* balance: the sums of both sides. */
static void balance_co_group(ws_op *o) {
  int64_t sums[2] = {0, 0};
  for (uint32_t i = 0; i < ws_count(o); i++) sums[ws_element(o, i)->input & 1] += ws_get(ws_element_row(o, i, payment), amount);
  pairs *out = ws_emit(o, 0, pairs);
  ws_set(out, amount, sums[0]);
  ws_set(out, other, sums[1]);
}
WS_CO_GROUP(balance)

/* asked: asks who the user is, unless there is none. */
static void asked_request(ws_op *o, const payment *in) {
  if (ws_is_null(in, user)) return;
  char url[64] = "/users/";
  uint32_t n = 7;
  ws_view user = ws_text(in, user);
  for (uint32_t i = 0; i < user.length && n < sizeof url; i++) url[n++] = user.bytes[i];
  ws_request *r = ws_ask(o);
  ws_set_text(r, method, "GET", 3);
  ws_set_text(r, url, url, n);
  ws_set_null(r, headers);
  ws_set_null(r, body);
}
static void asked_answer(ws_op *o, const payment *in, const ws_answer *answer) {
  line *out = ws_emit(o, 0, line);
  ws_set_view(out, user, ws_text(in, user));
  if (ws_is_null(answer, status)) ws_set_view(out, text, ws_text(answer, error));
  else ws_set_view(out, text, ws_text(answer, body));
}
WS_ENRICH(asked, payment)

/* words: a row for each word of a message. */
static void words_decode(ws_op *o, const ws_message *in) {
  ws_view all = ws_text(in, value);
  for (uint32_t from = 0, to; from < all.length; from = to + 1) {
    for (to = from; to < all.length && all.bytes[to] != ' '; to++) {}
    if (to == from) continue;
    person *out = ws_emit(o, 0, person);
    ws_set_text(out, user, all.bytes + from, to - from);
  }
}
WS_DECODE(words)

/* written: the user as the message and as its key; the message is null without one. */
static void written_encode(ws_op *o, const payment *in, ws_message *out) {
  (void)o;
  if (ws_is_null(in, user)) {
    ws_set_null(out, value);
    ws_set_null(out, key);
    return;
  }
  ws_set_view(out, value, ws_text(in, user));
  ws_set_view(out, key, ws_text(in, user));
}
WS_ENCODE(written, payment)

/* present: of any input, keeps records whose column of the name given is not null: it is looked for in open. */
typedef struct { ws_header header; ws_string column; } named;
static ws_column column;
static void present_open(ws_op *o, const named *p) {
  column = ws_find(ws_schema_of(o, 0), ws_text(p, column));
  if (!column.offset) WS_FAIL("the input has no such column");
}
static int present_filter(ws_op *o, const ws_header *in) {
  (void)o;
  return !ws_any_is_null(in, column);
}
WS_FILTER(present, ws_header)

/* longest: the first user, the longest name and how many there were; the accumulator has strings. */
typedef struct { ws_header header; ws_string first; ws_bigint n; ws_string longest; } names;
static void longest_fill(names *after, ws_view first, int64_t n, ws_view longest) {
  if (first.bytes) ws_set_view(after, first, first);
  else ws_set_null(after, first);
  ws_set(after, n, n);
  ws_set_view(after, longest, longest);
}
static ws_view longest_first(const names *acc) { return ws_is_null(acc, first) ? ws_view_of(0, 0) : ws_text(acc, first); }
static void longest_create(names *after) { longest_fill(after, ws_view_of(0, 0), 0, WS_TEXT("")); }
static void longest_join(const names *acc, ws_view first, int64_t n, ws_view longest, names *after) {
  ws_view before = ws_text(acc, longest);
  longest_fill(after, ws_is_null(acc, first) ? first : longest_first(acc), ws_get(acc, n) + n, longest.length > before.length ? longest : before);
}
static void longest_add(const names *acc, const payment *in, names *after) {
  longest_join(acc, ws_is_null(in, user) ? ws_view_of(0, 0) : ws_text(in, user), 1, ws_text(in, user), after);
}
static void longest_merge(const names *acc, const names *other, names *after) {
  longest_join(acc, longest_first(other), ws_get(other, n), ws_text(other, longest), after);
}
static void longest_result(const names *acc, names *out) {
  longest_fill(out, longest_first(acc), ws_get(acc, n), ws_text(acc, longest));
}
WS_AGGREGATE_OF_TEXTS(longest, payment, names, names)

WS_MODULE(
  WS_FUNCTION_WITH(0, scale, times) WS_FUNCTION(1, positive) WS_FUNCTION(2, split) WS_FUNCTION(3, by_user)
  WS_FUNCTION(4, stamped) WS_FUNCTION(5, total) WS_FUNCTION(6, largest) WS_FUNCTION(7, content) WS_FUNCTION(8, described)
  WS_FUNCTION_WITH(9, tumbling, width) WS_FUNCTION_WITH(10, gap, width) WS_FUNCTION_WITH(11, every, width)
  WS_FUNCTION_WITH(12, newest, width) WS_FUNCTION_WITH(13, idle, width) WS_FUNCTION(14, joined) WS_FUNCTION(15, latest)
  WS_FUNCTION(16, matched) WS_FUNCTION(17, balance) WS_FUNCTION(18, asked) WS_FUNCTION(19, words) WS_FUNCTION(20, written)
  WS_FUNCTION_WITH(21, present, named) WS_FUNCTION(22, longest))
