/* The triggers, one in another: rule[0] is the outermost. Each function does what udfs/twins/README.md has in its column. */

typedef enum { EVENT_TIME, PROCESSING_TIME, NEVER, END_OF_STREAM, COUNT, CONTINUOUS_EVENT_TIME, CONTINUOUS_PROCESSING_TIME, DELTA, PURGING, TIMEOUT, TIMEOUT_RESET } kind;
typedef struct { kind what; int64_t number; } link;

typedef struct { ws_header header; ws_string rule, field; ws_double threshold; } rules;
typedef struct { ws_header header; ws_bigint number; ws_double last; ws_bigint timeout; } memory;

static link rule[8];
static numeric field;
static double threshold;

/* What the window's state is during an op. */
static struct { int has_number, has_last, has_timeout; int64_t number, timeout; double last; } now;

static void trigger_open(ws_op *o, const rules *p) {
  static const struct { const char *word; uint32_t length; kind what; int with_number; } words[] = {
    {"event-time", 10, EVENT_TIME, 0}, {"processing-time", 15, PROCESSING_TIME, 0}, {"never", 5, NEVER, 0},
    {"end-of-stream", 13, END_OF_STREAM, 0}, {"count", 5, COUNT, 1}, {"continuous-event-time", 21, CONTINUOUS_EVENT_TIME, 1},
    {"continuous-processing-time", 26, CONTINUOUS_PROCESSING_TIME, 1}, {"delta", 5, DELTA, 0}, {"purging", 7, PURGING, 0},
    {"timeout", 7, TIMEOUT, 1}, {"timeout-reset", 13, TIMEOUT_RESET, 1},
  };
  ws_view text = ws_text(p, rule);
  for (uint32_t n = 0;; n++) {
    ws_view word = cut(&text, ' ');
    uint32_t i = 0;
    while (i < sizeof words / sizeof *words && !ws_same(word, ws_view_of(words[i].word, words[i].length))) i++;
    if (i == sizeof words / sizeof *words || n == sizeof rule / sizeof *rule) WS_FAIL("the rule is none of udfs/twins/README.md");
    rule[n].what = words[i].what;
    if (words[i].with_number) rule[n].number = number_of(cut(&text, ' '));
    if (words[i].what < PURGING) break;
  }
  field = find_numeric(o, ws_text(p, field));
  threshold = ws_get(p, threshold);
}

static void load(const memory *m) {
  now.has_number = m && !ws_is_null(m, number);
  now.has_last = m && !ws_is_null(m, last);
  now.has_timeout = m && !ws_is_null(m, timeout);
  now.number = m ? ws_get(m, number) : 0;
  now.last = m ? ws_get(m, last) : 0;
  now.timeout = m ? ws_get(m, timeout) : 0;
}

static void store(ws_op *o) {
  if (!now.has_number && !now.has_last && !now.has_timeout) {
    if (ws_state(o, 0, memory)) ws_clear(o, 0);
    return;
  }
  memory *m = ws_edit(o, 0, memory);
  if (now.has_number) ws_set(m, number, now.number);
  else ws_set_null(m, number);
  if (now.has_last) ws_set(m, last, now.last);
  else ws_set_null(m, last);
  if (now.has_timeout) ws_set(m, timeout, now.timeout);
  else ws_set_null(m, timeout);
}

static int passed(ws_op *o) { return ws_last(o) <= ws_watermark(o); }

static void next(ws_op *o, uint32_t domain, int64_t from, int64_t interval) {
  now.has_number = 1;
  now.number = least(plus(from, interval), ws_last(o));
  ws_set_timer(o, domain, now.number);
}

static ws_decision tick(ws_op *o, uint32_t domain, int64_t interval) {
  if (ws_time(o) == ws_last(o)) return WS_FIRE;
  if (!now.has_number || now.number != ws_time(o)) return WS_CONTINUE;
  next(o, domain, ws_time(o), interval);
  return WS_FIRE;
}

static void forget_timer(ws_op *o, uint32_t domain, int *has, int64_t time) {
  if (*has) ws_delete_timer(o, domain, time);
  *has = 0;
}

static void clear_link(ws_op *o, const link *t) {
  switch (t->what) {
    case EVENT_TIME: ws_delete_timer(o, WS_EVENT, ws_last(o)); break;
    case PROCESSING_TIME: ws_delete_timer(o, WS_PROCESSING, ws_last(o)); break;
    case COUNT: now.has_number = 0; break;
    case CONTINUOUS_EVENT_TIME: forget_timer(o, WS_EVENT, &now.has_number, now.number); break;
    case CONTINUOUS_PROCESSING_TIME: forget_timer(o, WS_PROCESSING, &now.has_number, now.number); break;
    case DELTA: now.has_last = 0; break;
    case PURGING: clear_link(o, t + 1); break;
    case TIMEOUT: case TIMEOUT_RESET:
      forget_timer(o, WS_PROCESSING, &now.has_timeout, now.timeout);
      clear_link(o, t + 1);
      break;
    default: break;
  }
}

static ws_decision purged(ws_decision d) { return d & WS_FIRE ? WS_FIRE_AND_PURGE : d; }

static ws_decision element(ws_op *o, const link *t, const ws_header *in) {
  ws_decision d;
  double value;
  switch (t->what) {
    case EVENT_TIME:
      if (passed(o)) return WS_FIRE;
      ws_set_timer(o, WS_EVENT, ws_last(o));
      return WS_CONTINUE;
    case PROCESSING_TIME: ws_set_timer(o, WS_PROCESSING, ws_last(o)); return WS_CONTINUE;
    case END_OF_STREAM: ws_set_timer(o, WS_EVENT, ws_last(o)); return WS_CONTINUE;
    case COUNT:
      now.number = now.has_number ? now.number + 1 : 1;
      now.has_number = now.number < t->number;
      return now.has_number ? WS_CONTINUE : WS_FIRE;
    case CONTINUOUS_EVENT_TIME:
      if (passed(o)) return WS_FIRE;
      ws_set_timer(o, WS_EVENT, ws_last(o));
      if (!now.has_number) next(o, WS_EVENT, ws_time(o) - ws_time(o) % t->number, t->number);
      return WS_CONTINUE;
    case CONTINUOUS_PROCESSING_TIME:
      if (!now.has_number) next(o, WS_PROCESSING, ws_clock(o) - ws_clock(o) % t->number, t->number);
      return WS_CONTINUE;
    case DELTA:
      value = double_of(in, field);
      if (now.has_last && !(value - now.last > threshold)) return WS_CONTINUE;
      d = now.has_last ? WS_FIRE : WS_CONTINUE;
      now.has_last = 1;
      now.last = value;
      return d;
    case PURGING: return purged(element(o, t + 1, in));
    case TIMEOUT: case TIMEOUT_RESET:
      d = element(o, t + 1, in);
      if (d & WS_FIRE) {
        clear_link(o, t);
        return d;
      }
      if (t->what == TIMEOUT_RESET) forget_timer(o, WS_PROCESSING, &now.has_timeout, now.timeout);
      if (!now.has_timeout) {
        now.has_timeout = 1;
        now.timeout = plus(ws_clock(o), t->number);
        ws_set_timer(o, WS_PROCESSING, now.timeout);
      }
      return d;
    default: return WS_CONTINUE;
  }
}

static ws_decision timer(ws_op *o, const link *t, uint32_t domain) {
  ws_decision d;
  switch (t->what) {
    case EVENT_TIME: case END_OF_STREAM: return domain == WS_EVENT && ws_time(o) == ws_last(o) ? WS_FIRE : WS_CONTINUE;
    case PROCESSING_TIME: return domain == WS_PROCESSING ? WS_FIRE : WS_CONTINUE;
    case CONTINUOUS_EVENT_TIME: return domain == WS_EVENT ? tick(o, domain, t->number) : WS_CONTINUE;
    case CONTINUOUS_PROCESSING_TIME: return domain == WS_PROCESSING ? tick(o, domain, t->number) : WS_CONTINUE;
    case PURGING: return purged(timer(o, t + 1, domain));
    case TIMEOUT: case TIMEOUT_RESET:
      d = timer(o, t + 1, domain);
      clear_link(o, t);
      return (ws_decision)(WS_FIRE | (d & WS_PURGE));
    default: return WS_CONTINUE;
  }
}

/* The sum, or the least, of what the merged windows' numbers are. */
static void merge_numbers(ws_op *o, int add) {
  for (uint32_t w = 0; w < ws_count(o); w++) {
    const memory *m = ws_merged(o, w, 0, memory);
    if (!m || ws_is_null(m, number)) continue;
    if (!now.has_number) now.number = ws_get(m, number);
    else now.number = add ? now.number + ws_get(m, number) : least(now.number, ws_get(m, number));
    now.has_number = 1;
  }
}

static void merge_link(ws_op *o, const link *t) {
  switch (t->what) {
    case EVENT_TIME:
      if (!passed(o)) ws_set_timer(o, WS_EVENT, ws_last(o));
      break;
    case PROCESSING_TIME:
      if (ws_last(o) > ws_clock(o)) ws_set_timer(o, WS_PROCESSING, ws_last(o));
      break;
    case COUNT: merge_numbers(o, 1); break;
    case CONTINUOUS_EVENT_TIME: case CONTINUOUS_PROCESSING_TIME:
      merge_numbers(o, 0);
      if (now.has_number) ws_set_timer(o, t->what == CONTINUOUS_EVENT_TIME ? WS_EVENT : WS_PROCESSING, now.number);
      break;
    case PURGING: merge_link(o, t + 1); break;
    default: break;
  }
}

static ws_decision trigger_on_element(ws_op *o, const ws_header *in) {
  load(ws_state(o, 0, memory));
  ws_decision d = element(o, rule, in);
  store(o);
  return d;
}

static ws_decision trigger_on_timer(ws_op *o, uint32_t domain) {
  load(ws_state(o, 0, memory));
  ws_decision d = timer(o, rule, domain);
  store(o);
  return d;
}
static ws_decision trigger_on_event_time(ws_op *o) { return trigger_on_timer(o, WS_EVENT); }
static ws_decision trigger_on_processing_time(ws_op *o) { return trigger_on_timer(o, WS_PROCESSING); }

static void trigger_on_merge(ws_op *o) {
  load(0);
  merge_link(o, rule);
  store(o);
}

static void trigger_clear(ws_op *o) {
  load(ws_state(o, 0, memory));
  clear_link(o, rule);
  store(o);
}
WS_TRIGGER(trigger, ws_header)
