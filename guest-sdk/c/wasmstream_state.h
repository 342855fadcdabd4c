/* State of a key, of a window, or broadcast. Part of wasmstream.h.
 *
 * Value, reducing and aggregating states are slots, numbered among themselves in the order of the manifest; list and map
 * states, and all broadcast state, are numbered in the order of all states of the manifest. */
#ifndef WASMSTREAM_STATE_H
#define WASMSTREAM_STATE_H

#include "wasmstream_op.h"

/* Byte 0 of a slot without a value. */
#define WS_ABSENT 3

/* The header, of a frame that has the slot: how many states a function has, only the manifest knows, and a slot behind
 * those of all ops would be any other bytes. */
WS_PART inline const wasmstream_header *ws_header_of(const ws_op *o, uint32_t slot) {
  if (slot >= o->header->slots_count) ws_lacks("state in slot", slot, o->header->slots_count);
  return o->header;
}

/* The state, or 0 if it holds no value. It stays as it is until the op ends, unless the op edits it in place. */
WS_PART inline const void *ws_slot_at(const ws_op *o, uint32_t slot) {
  const wasmstream_header *h = ws_header_of(o, slot);
  if (h->slot_stride) {
    const uint8_t *at = o->frame + h->slots_offset + slot * h->slot_stride;
    return *at == WS_ABSENT ? 0 : at;
  }
  const ws_half *entry = WS_ROW(const ws_half, o->frame, h->slots_offset) + 2 * slot;
  return entry[1] ? o->frame + (int32_t)entry[0] : 0;
}
WS_PART inline uint32_t ws_slot_length(const ws_op *o, uint32_t slot) { return WS_ROW(const ws_half, o->frame, o->header->slots_offset)[2 * slot + 1]; }

/* A new row for a slot that is answered by an effect. The effect's payload is the state for the ops that follow: the
 * directory, which is ours now, says so. */
WS_PART inline ws_word *ws_slot_answered(const ws_op *o, uint32_t slot, uint32_t size) {
  ws_half *entry = WS_ROW(ws_half, o->frame, o->header->slots_offset) + 2 * slot;
  ws_word *row = ws_effect(o, WASMSTREAM_EFFECT_SET_SLOT, slot, size);
  entry[0] = (uint32_t)((uint8_t *)row - o->frame);
  entry[1] = size;
  return row;
}
#define ws_state(o, i, type) ((const type *)ws_slot_at(o, (o)->op->slot + (i)))

/* Ends a call whose struct would reach into the next slot. */
WS_PART __attribute__((noreturn)) void ws_is_wider(uint32_t stride) {
  if (!stride) WS_FAIL("wasmstream: an accumulator that has strings is for WS_AGGREGATE_OF_TEXTS");
  WS_FAIL("wasmstream: the struct of a state or accumulator has more columns than the manifest says");
}

/* Edits a state of fixed width. Without a value it becomes zeros without nulls. Where slots are answered by effects, it is
 * a copy: what was edited before in the op is not this one. */
WS_PART inline void *ws_slot_edited(const ws_op *o, uint32_t slot, uint32_t size) {
  const wasmstream_header *h = ws_header_of(o, slot);
  if (h->slot_stride) {
    uint8_t *at = o->frame + h->slots_offset + slot * h->slot_stride;
    if (size > h->slot_stride) ws_is_wider(size);
    if (*at == WS_ABSENT) *at = 0;
    return at;
  }
  const ws_word *old = (const ws_word *)ws_slot_at(o, slot);
  if (old && ws_slot_length(o, slot) != size) WS_FAIL("wasmstream: ws_edit of a state that has strings; use ws_replace");
  ws_word *row = ws_slot_answered(o, slot, size);
  for (uint32_t i = 0; old && i < size / 8; i++) row[i] = old[i];
  return row;
}
#define ws_edit(o, i, type) ((type *)ws_slot_edited(o, (o)->op->slot + (i), sizeof(type)))

/* Gives a state a new value, a zeroed row without nulls, to be filled in before another row is begun. What ws_state
 * returned is then still good if the function has a state with strings, or with a time to live. */
WS_PART inline void *ws_slot_replaced(const ws_op *o, uint32_t slot, uint32_t size) {
  const wasmstream_header *h = ws_header_of(o, slot);
  if (h->slot_stride) {
    ws_word *at = WS_ROW(ws_word, o->frame, h->slots_offset + slot * h->slot_stride);
    if (size > h->slot_stride) ws_is_wider(size);
    for (uint32_t i = 0; i < size / 8; i++) at[i] = 0;
    return at;
  }
  return ws_slot_answered(o, slot, size);
}
#define ws_replace(o, i, type) ((type *)ws_slot_replaced(o, (o)->op->slot + (i), sizeof(type)))

/* Takes a state's value away. */
WS_PART inline void ws_clear(const ws_op *o, uint32_t i) {
  uint32_t slot = o->op->slot + i;
  const wasmstream_header *h = ws_header_of(o, slot);
  if (!h->slot_stride) {
    ws_effect(o, WASMSTREAM_EFFECT_SET_SLOT, slot, 0);
    WS_ROW(ws_half, o->frame, h->slots_offset)[2 * slot + 1] = 0;
    return;
  }
  ws_word *at = WS_ROW(ws_word, o->frame, h->slots_offset + slot * h->slot_stride);
  for (uint32_t k = 1; k < h->slot_stride / 8; k++) at[k] = 0;
  at[0] = WS_ABSENT;
}

/* Says that a state was read: for those whose time to live heeds that. */
WS_PART inline void ws_touch(const ws_op *o, uint32_t i) { ws_effect(o, WASMSTREAM_EFFECT_TOUCH, o->op->slot + i, 0); }

/* Of on_merge: state i of the merged window of that number, or 0 if it holds no value. There are ws_count(o) windows. */
#define ws_merged(o, window, i, type) ((const type *)ws_slot_at(o, ws_merged_slot(o, window) + (i)))
WS_PART inline uint32_t ws_merged_slot(const ws_op *o, uint32_t window) {
  if (window >= WS_CONTEXT(o)->count) ws_lacks("merged window", window, WS_CONTEXT(o)->count);
  return WS_ROW(const ws_half, o->frame, WS_CONTEXT(o)->list)[window];
}

/* --- List and map states, and broadcast state: by calls of the host. --- */

WS_EXTERN WS_IMPORT(state_get) int32_t ws_state_get(uint32_t op, uint32_t state, const void *key, uint32_t key_length, void *into, uint32_t into_length);
WS_EXTERN WS_IMPORT(state_put) void ws_state_put(uint32_t op, uint32_t state, const void *key, uint32_t key_length, const void *value, uint32_t value_length);
WS_EXTERN WS_IMPORT(state_delete) void ws_state_delete(uint32_t op, uint32_t state, const void *key, uint32_t key_length);
WS_EXTERN WS_IMPORT(state_scan) int32_t ws_state_scan(uint32_t op, uint32_t state, const void *after, uint32_t after_length, void *into, uint32_t into_length);

/* Keys and values are rows made by ws_row. */

/* The value of a map's entry, or 0 if there is none. */
WS_PART const void *ws_map_find(const ws_op *o, uint32_t state, const void *key) {
  ws_word *into = ws_scratch + ws_scratch_end / 8 + 1;
  uint32_t room = WS_SCRATCH_BYTES - ws_scratch_end - 8;
  if (ws_scratch_end + 8 > WS_SCRATCH_BYTES) room = 0;
  int32_t length = ws_state_get(o->index, state, key, WS_LENGTH(key), into, room);
  if (length < 0) return 0;
  if ((uint32_t)length > room) WS_FAIL("wasmstream: the rows of one op are larger than WS_SCRATCH_BYTES");
  into[-1] = (uint32_t)length;
  ws_scratch_end += 8 + (((uint32_t)length + 7) & ~7u);
  return into;
}
#define ws_map_get(o, state, key, type) ((const type *)ws_map_find(o, state, key))
WS_PART inline void ws_map_put(const ws_op *o, uint32_t state, const void *key, const void *value) {
  ws_state_put(o->index, state, key, WS_LENGTH(key), value, WS_LENGTH(value));
}
WS_PART inline void ws_map_remove(const ws_op *o, uint32_t state, const void *key) { ws_state_delete(o->index, state, key, WS_LENGTH(key)); }

/* Appends to a list. */
WS_PART inline void ws_list_add(const ws_op *o, uint32_t state, const void *value) { ws_state_put(o->index, state, 0, 0, value, WS_LENGTH(value)); }

/* Empties a list or map. */
WS_PART inline void ws_remove_all(const ws_op *o, uint32_t state) { ws_state_delete(o->index, state, 0, 0); }

/* Goes through a map in the order of the keys' bytes, or through a list:
 *   ws_scan s = ws_scan_of(op, 0);
 *   while (ws_next(&s)) ... ws_scan_key(s, type), ws_scan_value(s, type)
 * Views are good until the next ws_next. */
typedef struct {
  const ws_op *op;
  uint32_t state, at, end, half, half_bytes, started;
  uint8_t *buffer;
  const uint8_t *key, *value;
  uint32_t key_length;
} ws_scan;
#define ws_scan_key(scan, type) ((const type *)(const void *)(scan).key)
#define ws_scan_value(scan, type) ((const type *)(const void *)(scan).value)

/* Takes half of what is left of the scratch, in two parts: a part is filled while the last key is still in the other. */
WS_PART ws_scan ws_scan_of(const ws_op *o, uint32_t state) {
  ws_scan s;
  s.op = o;
  s.state = state;
  s.at = s.end = s.half = s.started = s.key_length = 0;
  s.key = s.value = 0;
  s.half_bytes = (WS_SCRATCH_BYTES - ws_scratch_end) / 4 & ~7u;
  s.buffer = (uint8_t *)ws_scratch + ws_scratch_end;
  ws_scratch_end += 2 * s.half_bytes;
  return s;
}

WS_PART int ws_next(ws_scan *s) {
  if (s->at == s->end) {
    s->half = s->started && !s->half;
    uint8_t *into = s->buffer + s->half * s->half_bytes;
    int32_t n = ws_state_scan(s->op->index, s->state, s->key, s->key_length, into, s->half_bytes);
    if (n < 0) WS_FAIL("wasmstream: an entry of a state is larger than a quarter of WS_SCRATCH_BYTES");
    if (n == 0) return 0;
    s->started = 1;
    s->at = (uint32_t)(into - s->buffer);
    s->end = s->at + (uint32_t)n;
  }
  const ws_half *lengths = (const ws_half *)(void *)(s->buffer + s->at);
  s->key_length = lengths[0];
  s->key = s->buffer + s->at + 8;
  s->value = s->key + ((lengths[0] + 7) & ~7u);
  s->at += 8 + ((lengths[0] + 7) & ~7u) + ((lengths[1] + 7) & ~7u);
  return 1;
}

/* Of on_merge: the list or map state i of the merged window of that number, for ws_map_get and ws_scan_of: it can only be
 * read. There are ws_count(o) windows. */
#define ws_merged_state(window, i) ((uint32_t)(i) | ((uint32_t)(window) + 1) << 16)

/* Of on_merge: appends the lists of all merged windows. */
WS_PART void ws_list_merge(const ws_op *o, uint32_t state) {
  uint32_t scratch = ws_scratch_end;
  for (uint32_t window = 0; window < ws_count(o); window++) {
    ws_scratch_end = scratch; /* the scan before is over */
    for (ws_scan s = ws_scan_of(o, ws_merged_state(window, state)); ws_next(&s);) {
      ws_state_put(o->index, state, 0, 0, s.value, ((const ws_half *)(const void *)s.key)[-1]);
    }
  }
  ws_scratch_end = scratch;
}

#endif
