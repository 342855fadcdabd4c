/* Roles: a macro for each, which makes a function of callbacks named after it. Part of wasmstream.h.
 *
 * The callbacks of the function NAME are NAME_map, NAME_filter and so on, as each macro says. All are to be there; those
 * without a use by WS_IGNORE and WS_GO_ON. Types may have any name but frame and o. */
#ifndef WASMSTREAM_ROLES_H
#define WASMSTREAM_ROLES_H

#include "wasmstream_state.h"

/* Callbacks without a use, one of each kind: WS_IGNORE(NAME, on_timer), and so with clear and on_merge;
 * WS_GO_ON(NAME, on_event_time), of triggers, and so with on_processing_time; WS_IGNORE_KEYS(NAME, SECOND) is on_key. */
#define WS_IGNORE(name, callback) static void name##_##callback(ws_op *o) { (void)o; }
#define WS_GO_ON(name, callback) static ws_decision name##_##callback(ws_op *o) { (void)o; return WS_CONTINUE; }
#define WS_IGNORE_KEYS(name, second) static void name##_on_key(ws_op *o, const second *in) { (void)o; (void)in; }

/* Performs a frame's ops, each by its case. The op's row is WS_IN(type), 0 if it has none. */
#define WS_RUN(name, ...) \
  static void ws_run_##name(uint8_t *frame) { \
    ws_op ws_now; \
    ws_op *o = &ws_now; \
    ws_now.frame = frame; \
    ws_now.header = (const wasmstream_header *)(void *)frame; \
    ws_now.op = (const wasmstream_op *)(void *)(frame + ws_now.header->ops_offset); \
    for (uint32_t ws_n = ws_now.header->ops_count, ws_i = 0; ws_i < ws_n && !ws_full; ws_i++, ws_now.op++) { \
      ws_now.index = ws_i; \
      ws_scratch_end = 0; \
      switch (ws_now.op->kind) { \
        __VA_ARGS__ \
        default: WS_FAIL("wasmstream: an op of a kind that the role does not know"); \
      } \
    } \
  }
#define WS_IN(type) (o->op->row ? WS_ROW(const type, o->frame, o->op->row) : (const type *)0)

/* void NAME_map(ws_op *o, const INPUT *in, OUTPUT *out): fills the result, which comes zeroed, without nulls. */
#define WS_MAP(name, input, output) \
  WS_RUN(name, case WASMSTREAM_OP_ON_RECORD: name##_map(o, WS_IN(input), ws_emit(o, 0, output)); break;)

/* int NAME_filter(ws_op *o, const INPUT *in): whether the record is kept. */
#define WS_FILTER(name, input) \
  WS_RUN(name, case WASMSTREAM_OP_ON_RECORD: if (name##_filter(o, WS_IN(input))) ws_effect(o, WASMSTREAM_EFFECT_KEEP, 0, 0); break;)

/* void NAME_flat_map(ws_op *o, const INPUT *in): any number of ws_emit. */
#define WS_FLAT_MAP(name, input) \
  WS_RUN(name, case WASMSTREAM_OP_ON_RECORD: name##_flat_map(o, WS_IN(input)); break;)

/* void NAME_key(ws_op *o, const INPUT *in, KEY *out): fills the key. */
#define WS_KEY(name, input, key) \
  WS_RUN(name, case WASMSTREAM_OP_ON_RECORD: name##_key(o, WS_IN(input), ws_emit(o, 0, key)); break;)

/* int64_t NAME_timestamp(ws_op *o, const INPUT *in): the record's event time. A ws_send_watermark may go with it. */
#define WS_TIMESTAMP(name, input) \
  WS_RUN(name, case WASMSTREAM_OP_ON_RECORD: { \
    int64_t ws_at = name##_timestamp(o, WS_IN(input)); \
    *ws_effect(o, WASMSTREAM_EFFECT_EVENT_TIME, 0, 8) = (uint64_t)ws_at; \
    break; \
  })

/* void NAME_reduce(ws_op *o, const ROW *a, const ROW *b, ROW *out): combines two rows into one, which comes zeroed. */
#define WS_REDUCE(name, row) \
  WS_RUN(name, case WASMSTREAM_OP_REDUCE: { \
    if (o->header->slot_stride) { \
      row *ws_both = ws_row(row); \
      name##_reduce(o, ws_state(o, 0, row), WS_IN(row), ws_both); \
      *ws_edit(o, 0, row) = *ws_both; \
    } else { \
      const row *ws_before = ws_state(o, 0, row); \
      name##_reduce(o, ws_before, WS_IN(row), ws_replace(o, 0, row)); \
    } \
    break; \
  })

/* void NAME_apply(ws_op *o, const RESULT *in): a window fires. Behind an aggregate `in` is its result; without one it is
 * 0, and the elements are ws_element. void NAME_clear(ws_op *o): the window is over. */
#define WS_APPLY(name, result) \
  WS_RUN(name, \
    case WASMSTREAM_OP_ON_WINDOW: name##_apply(o, WS_IN(result)); break; \
    case WASMSTREAM_OP_CLEAR: name##_clear(o); break;)

/* void NAME_assign(ws_op *o, const INPUT *in): a ws_assign for each window. */
#define WS_ASSIGNER(name, input) \
  WS_RUN(name, case WASMSTREAM_OP_ASSIGN: name##_assign(o, WS_IN(input)); break;)

/* ws_decision NAME_on_element(ws_op *o, const INPUT *in), NAME_on_event_time(ws_op *o), NAME_on_processing_time(ws_op *o);
 * void NAME_on_merge(ws_op *o): takes in the states of ws_merged; void NAME_clear(ws_op *o): deletes its timers. */
#define WS_TRIGGER(name, input) \
  WS_RUN(name, \
    case WASMSTREAM_OP_ON_ELEMENT: ws_decide(o, name##_on_element(o, WS_IN(input))); break; \
    case WASMSTREAM_OP_ON_EVENT_TIME: ws_decide(o, name##_on_event_time(o)); break; \
    case WASMSTREAM_OP_ON_PROCESSING_TIME: ws_decide(o, name##_on_processing_time(o)); break; \
    case WASMSTREAM_OP_ON_MERGE: name##_on_merge(o); break; \
    case WASMSTREAM_OP_CLEAR: name##_clear(o); break;)
WS_PART inline void ws_decide(const ws_op *o, ws_decision decision) {
  if (decision != WS_CONTINUE) ws_effect(o, WASMSTREAM_EFFECT_DECIDE, (uint32_t)decision, 0);
}

/* void NAME_evict(ws_op *o): a ws_evict for each element that leaves, before or after the window function: ws_is_after. */
#define WS_EVICTOR(name) \
  WS_RUN(name, case WASMSTREAM_OP_EVICT: name##_evict(o); break;)

/* void NAME_on_record(ws_op *o, const INPUT *in), NAME_on_timer(ws_op *o): states, timers, emits. */
#define WS_PROCESS(name, input) \
  WS_RUN(name, \
    case WASMSTREAM_OP_ON_RECORD: name##_on_record(o, WS_IN(input)); break; \
    case WASMSTREAM_OP_ON_TIMER: name##_on_timer(o); break;)

/* The same with void NAME_on_second(ws_op *o, const SECOND *in). */
#define WS_CO_PROCESS(name, input, second) \
  WS_RUN(name, \
    case WASMSTREAM_OP_ON_RECORD: name##_on_record(o, WS_IN(input)); break; \
    case WASMSTREAM_OP_ON_SECOND: name##_on_second(o, WS_IN(second)); break; \
    case WASMSTREAM_OP_ON_TIMER: name##_on_timer(o); break;)

/* The same with void NAME_on_broadcast(ws_op *o, const SECOND *in), which alone may change broadcast state and has no key,
 * and void NAME_on_key(ws_op *o, const SECOND *in) for each key after ws_visit_keys. */
#define WS_BROADCAST_PROCESS(name, input, second) \
  WS_RUN(name, \
    case WASMSTREAM_OP_ON_RECORD: name##_on_record(o, WS_IN(input)); break; \
    case WASMSTREAM_OP_ON_BROADCAST: name##_on_broadcast(o, WS_IN(second)); break; \
    case WASMSTREAM_OP_ON_TIMER: name##_on_timer(o); break; \
    case WASMSTREAM_OP_ON_KEY: name##_on_key(o, WS_IN(second)); break;)

/* void NAME_join(ws_op *o, const LEFT *left, const RIGHT *right): emits to output 0. A side that is missing is 0. */
#define WS_JOIN(name, left, right) \
  WS_RUN(name, case WASMSTREAM_OP_ON_PAIR: name##_join(o, WS_IN(left), ws_second(o, right)); break;)
#define ws_second(o, type) \
  (WS_CONTEXT(o)->second ? WS_ROW(const type, (o)->frame, WS_CONTEXT(o)->second) : (const type *)0)

/* void NAME_co_group(ws_op *o): the elements of both inputs: ws_element(o, i)->input tells which. */
#define WS_CO_GROUP(name) \
  WS_RUN(name, case WASMSTREAM_OP_ON_GROUP: name##_co_group(o); break;)

/* void NAME_request(ws_op *o, const INPUT *in): at most one ws_ask, or emits;
 * void NAME_answer(ws_op *o, const INPUT *in, const ws_answer *answer): emits. */
#define WS_ENRICH(name, input) \
  WS_RUN(name, \
    case WASMSTREAM_OP_ON_RECORD: name##_request(o, WS_IN(input)); break; \
    case WASMSTREAM_OP_ON_ANSWER: name##_answer(o, WS_IN(input), ws_second(o, ws_answer)); break;)

/* void NAME_decode(ws_op *o, const ws_message *in): emits to output 0. */
#define WS_DECODE(name) \
  WS_RUN(name, case WASMSTREAM_OP_DECODE: name##_decode(o, WS_IN(ws_message)); break;)

/* void NAME_encode(ws_op *o, const INPUT *in, ws_message *out): fills the message. */
#define WS_ENCODE(name, input) \
  WS_RUN(name, case WASMSTREAM_OP_ENCODE: name##_encode(o, WS_IN(input), ws_emit(o, 0, ws_message)); break;)

/* void NAME_create(ACCUMULATOR *acc): it comes zeroed, without nulls; void NAME_add(ACCUMULATOR *acc, const INPUT *in);
 * void NAME_merge(ACCUMULATOR *acc, const ACCUMULATOR *other); void NAME_result(const ACCUMULATOR *acc, OUTPUT *out). The
 * accumulator has columns of fixed width only; one with strings is for WS_AGGREGATE_OF_TEXTS. */
#define WS_AGGREGATE(name, input, accumulator, output) \
  typedef input ws_input_of_##name; \
  typedef accumulator ws_accumulator_of_##name; \
  typedef output ws_output_of_##name; \
  static void ws_run_##name(uint8_t *frame) { \
    const wasmstream_header *h = (const wasmstream_header *)(void *)frame; \
    const wasmstream_op *op = (const wasmstream_op *)(void *)(frame + h->ops_offset); \
    ws_op now = {frame, h, op, 0}; \
    uint8_t *slots = frame + h->slots_offset; \
    uint32_t stride = h->slot_stride; \
    if (stride < sizeof(ws_accumulator_of_##name) && h->slots_count) ws_is_wider(stride); \
    for (uint32_t i = 0, n = h->ops_count; i < n && !ws_full; i++, op++) { \
      /* The highest field first: engines then check bounds once for the op, not once for each field. */ \
      uint32_t arg = op->arg, row = op->row; \
      ws_accumulator_of_##name *acc = WS_ROW(ws_accumulator_of_##name, slots, op->slot * stride); \
      switch (op->kind) { \
        case WASMSTREAM_OP_ADD: name##_add(acc, WS_ROW(const ws_input_of_##name, frame, row)); break; \
        case WASMSTREAM_OP_CREATE: name##_create(acc); break; \
        case WASMSTREAM_OP_MERGE: name##_merge(acc, WS_ROW(const ws_accumulator_of_##name, slots, arg * stride)); break; \
        case WASMSTREAM_OP_RESULT: now.index = i; name##_result(acc, ws_emit(&now, 0, ws_output_of_##name)); break; \
        default: WS_FAIL("wasmstream: an op of a kind that aggregates do not know"); \
      } \
    } \
  }

/* An aggregate whose accumulator has strings, which cannot be changed where they are: each op writes a new one, `after`,
 * which comes zeroed, without nulls; strings are set in their order, an empty one and all. void NAME_create(ACCUMULATOR *after);
 * void NAME_add(const ACCUMULATOR *acc, const INPUT *in, ACCUMULATOR *after); void NAME_merge(const ACCUMULATOR *acc, const
 * ACCUMULATOR *other, ACCUMULATOR *after); NAME_result as that of WS_AGGREGATE. */
#define WS_AGGREGATE_OF_TEXTS(name, input, accumulator, output) \
  WS_RUN(name, \
    case WASMSTREAM_OP_CREATE: name##_create(ws_replace_text(o, accumulator)); break; \
    case WASMSTREAM_OP_ADD: { \
      const accumulator *ws_before = ws_state(o, 0, accumulator); \
      name##_add(ws_before, WS_IN(input), ws_replace_text(o, accumulator)); \
      break; \
    } \
    case WASMSTREAM_OP_MERGE: { \
      const accumulator *ws_before = ws_state(o, 0, accumulator), *ws_other = (const accumulator *)ws_slot_at(o, o->op->arg); \
      name##_merge(ws_before, ws_other, ws_replace_text(o, accumulator)); \
      break; \
    } \
    case WASMSTREAM_OP_RESULT: name##_result(ws_state(o, 0, accumulator), ws_emit(o, 0, output)); break;)
/* What ws_state returned is good beside it only where slots are answered by effects. */
#define ws_replace_text(o, type) \
  ((o)->header->slot_stride ? (WS_FAIL("wasmstream: an accumulator without strings is for WS_AGGREGATE"), (type *)0) : ws_replace(o, 0, type))

#endif
