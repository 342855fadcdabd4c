/* The op that is being performed: what it is about, and the effects that it may have. Part of wasmstream.h. */
#ifndef WASMSTREAM_OP_H
#define WASMSTREAM_OP_H

#include "wasmstream_row.h"

/* One thing that is asked of a function. */
typedef struct {
  uint8_t *frame;
  const wasmstream_header *header;
  const wasmstream_op *op;
  uint32_t index; /* of the op in the frame */
} ws_op;

/* There is no such time: of a record without event time, and before the first watermark. */
#define WS_NO_TIME INT64_MIN

/* What an op is about. Which of it there is depends on the role: see abi/README.md. */
#define WS_CONTEXT(o) WS_ROW(const wasmstream_context, (o)->frame, (o)->op->arg)
/* The record's event time; of a timer, its time. */
WS_PART inline int64_t ws_time(const ws_op *o) { return WS_CONTEXT(o)->time; }
WS_PART inline int64_t ws_watermark(const ws_op *o) { return WS_CONTEXT(o)->watermark; }
/* The processing time: there is no other clock. */
WS_PART inline int64_t ws_clock(const ws_op *o) { return WS_CONTEXT(o)->clock; }
/* The key, a row of the columns that the manifest has as `key`. */
#define ws_key(o, type) WS_ROW(const type, (o)->frame, WS_CONTEXT(o)->key)
/* The window: its first millisecond, and the one behind its last. */
WS_PART inline int64_t ws_start(const ws_op *o) { return WS_CONTEXT(o)->start; }
WS_PART inline int64_t ws_end(const ws_op *o) { return WS_CONTEXT(o)->end; }
/* The window's last millisecond; of a global window the greatest i64. */
WS_PART inline int64_t ws_last(const ws_op *o) { return (int64_t)((uint64_t)WS_CONTEXT(o)->end - 1); }

/* The elements of a window or group, in order of arrival. */
WS_PART inline uint32_t ws_count(const ws_op *o) { return WS_CONTEXT(o)->count; }
WS_PART inline const wasmstream_element *ws_element(const ws_op *o, uint32_t i) {
  if (i >= WS_CONTEXT(o)->count) ws_lacks("element", i, WS_CONTEXT(o)->count);
  return WS_ROW(const wasmstream_element, o->frame, WS_CONTEXT(o)->list) + i;
}
#define ws_element_row(o, i, type) WS_ROW(const type, (o)->frame, ws_element(o, i)->row)

/* The domains of timers. */
enum { WS_EVENT = 0, WS_PROCESSING = 1 };
/* Of on_timer: the timer's domain. */
WS_PART inline uint32_t ws_domain(const ws_op *o) { return WS_CONTEXT(o)->detail; }
/* Of evict: whether the window function was called already. */
WS_PART inline int ws_is_after(const ws_op *o) { return WS_CONTEXT(o)->detail != 0; }

/* What a trigger decides. */
typedef enum { WS_CONTINUE = 0, WS_FIRE = 1, WS_PURGE = 2, WS_FIRE_AND_PURGE = 3 } ws_decision;

/* Begins an effect with a zeroed payload of size bytes, a multiple of 8. When it does not fit, the payload goes nowhere. */
WS_PART inline ws_word *ws_effect(const ws_op *o, uint32_t kind, uint32_t aux, uint32_t size) {
  uint32_t whole = (uint32_t)sizeof(wasmstream_effect) + size;
  ws_word *at = ws_effects + ws_effects_end / 8;
  if (ws_full || whole > WS_EFFECTS_BYTES - ws_effects_end) {
    ws_full = 1;
    at = ws_effects + WS_EFFECTS_BYTES / 8;
  } else {
    ws_effects_end += whole;
  }
  at[0] = kind | (uint64_t)o->index << 32;
  at[1] = size | (uint64_t)aux << 32;
  at += sizeof(wasmstream_effect) / 8;
  for (uint32_t i = 0; i < size / 8; i++) at[i] = 0;
  return at;
}

/* Emits a row to an output, 0 the main one: a zeroed row without nulls, to be filled in before the next is begun. */
#define ws_emit(o, output, type) ((type *)(void *)ws_effect(o, WASMSTREAM_EFFECT_EMIT, output, sizeof(type)))

/* Sets, or deletes, a timer of the key or window. */
WS_PART inline void ws_set_timer(const ws_op *o, uint32_t domain, int64_t time) {
  *ws_effect(o, WASMSTREAM_EFFECT_SET_TIMER, domain, 8) = (uint64_t)time;
}
WS_PART inline void ws_delete_timer(const ws_op *o, uint32_t domain, int64_t time) {
  *ws_effect(o, WASMSTREAM_EFFECT_DELETE_TIMER, domain, 8) = (uint64_t)time;
}

/* Of a timestamp function: a watermark behind the record. */
WS_PART inline void ws_send_watermark(const ws_op *o, int64_t time) { *ws_effect(o, WASMSTREAM_EFFECT_WATERMARK, 0, 8) = (uint64_t)time; }

/* Of an assigner: a window that the record belongs to. */
WS_PART inline void ws_assign(const ws_op *o, int64_t start, int64_t end) {
  ws_word *payload = ws_effect(o, WASMSTREAM_EFFECT_ASSIGN, 0, 16);
  payload[0] = (uint64_t)start;
  payload[1] = (uint64_t)end;
}

/* Of an evictor: an element leaves the window; in rising order. */
WS_PART inline void ws_evict(const ws_op *o, uint32_t element) {
  if (element >= WS_CONTEXT(o)->count) ws_lacks("element", element, WS_CONTEXT(o)->count);
  ws_effect(o, WASMSTREAM_EFFECT_EVICT, element, 0);
}

/* Of on_broadcast: has on_key called for each key that has state. */
WS_PART inline void ws_visit_keys(const ws_op *o) { ws_effect(o, WASMSTREAM_EFFECT_VISIT_KEYS, 0, 0); }

/* What decode gets and encode makes; what an enrichment asks, and what comes back: without an answer the status is null
 * and the error says why. Headers are lines `name: value`. */
typedef struct { ws_header header; ws_string value, key; } ws_message;
typedef struct { ws_header header; ws_string method, url, headers, body; } ws_request;
typedef struct { ws_header header; ws_int status; ws_string headers, body, error; } ws_answer;

/* Of an enrichment: what to ask before the record goes on. */
#define ws_ask(o) ((ws_request *)(void *)ws_effect(o, WASMSTREAM_EFFECT_REQUEST, 0, sizeof(ws_request)))

/* --- Input of any schema: columns are looked for by name in open. --- */

/* A column that was found; without one, offset is 0. */
typedef struct {
  uint32_t index, offset; /* which one it is, and where in the row */
  ws_view type, name;
} ws_column;

/* A schema: a line for each column, TYPE, a tab, name. */
typedef struct { ws_view text; uint32_t columns; } ws_schema;

/* Of open: the schema of the input (0) or the second input (1). */
WS_PART ws_schema ws_schema_of(const ws_op *o, uint32_t input) {
  ws_schema schema;
  uint32_t at = o->op->arg;
  schema.columns = 0;
  schema.text.bytes = 0;
  schema.text.length = 0;
  if (at == 0) return schema;
  if (input) at += (4 + *WS_ROW(const uint32_t, o->frame, at) + 7) & ~7u;
  schema.text.length = *WS_ROW(const uint32_t, o->frame, at);
  schema.text.bytes = WS_ROW(const char, o->frame, at + 4);
  for (uint32_t i = 0; i < schema.text.length; i++) schema.columns += schema.text.bytes[i] == '\n';
  return schema;
}

/* The column of that name; or, without a name, of that index. */
WS_PART ws_column ws_find_column(ws_schema schema, ws_view name, uint32_t index) {
  ws_column found;
  const char *at = schema.text.bytes, *tab;
  for (uint32_t i = 0; i < schema.columns; i++) {
    for (tab = at; *tab != '\t';) tab++;
    found.type = ws_view_of(at, (uint32_t)(tab - at));
    for (at = ++tab; *at != '\n';) at++;
    found.name = ws_view_of(tab, (uint32_t)(at++ - tab));
    found.index = i;
    found.offset = (schema.columns + 71) / 64 * 8 + 8 * i;
    if (name.bytes ? ws_same(found.name, name) : i == index) return found;
  }
  found.index = found.offset = 0;
  found.type = found.name = ws_view_of(0, 0);
  return found;
}
#define ws_find(schema, name) ws_find_column(schema, name, 0)
#define ws_column_at(schema, index) ws_find_column(schema, ws_view_of(0, 0), index)

/* Whether the column is of a type, without what stands in brackets or behind, as in DECIMAL(10, 2) NOT NULL. */
WS_PART int ws_is_type(ws_column c, ws_view type) {
  uint32_t n = 0;
  while (n < c.type.length && c.type.bytes[n] != '(' && c.type.bytes[n] != ' ') n++;
  return ws_same(ws_view_of(c.type.bytes, n), type);
}

/* The column of a row: its type is the caller's to know. */
#define ws_any_get(row, column, type) (((const type *)(const void *)((const uint8_t *)(row) + (column).offset))->value)
WS_PART inline int ws_any_is_null(const void *row, ws_column c) { return ((const uint8_t *)row)[(c.index + 8) / 8] >> (c.index % 8) & 1; }
WS_PART inline ws_view ws_any_text(const void *row, ws_column c) { return ws_text_at(row, (const uint8_t *)row + c.offset); }

/* Of open: answers the schema of an output that the manifest leaves out. */
WS_PART void ws_answer_schema(const ws_op *o, uint32_t output, ws_view text) {
  uint8_t *to = (uint8_t *)ws_effect(o, WASMSTREAM_EFFECT_SCHEMA, output, (text.length + 7) & ~7u);
  WS_LENGTH(to) = text.length;
  if (ws_full) WS_FAIL("wasmstream: the schema is larger than WS_EFFECTS_BYTES");
  for (uint32_t i = 0; i < text.length; i++) to[i] = (uint8_t)text.bytes[i];
}

#endif
