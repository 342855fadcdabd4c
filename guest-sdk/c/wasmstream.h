/* wasmstream's functions in C or C++: headers only, no libc, nothing allocated. See README.md and, for the whole
 * contract, abi/README.md.
 *
 * A row is a struct: the header, then one 8-byte field per column in the schema's order. A function is callbacks that a
 * macro makes a function of, by its role: wasmstream_roles.h has them all.
 *
 *   typedef struct { ws_header header; ws_int delay; } input;
 *   typedef struct { ws_header header; ws_double hours; } output;
 *
 *   static void hours_map(ws_op *o, const input *in, output *out) { ws_set(out, hours, ws_get(in, delay) / 60.0); }
 *
 *   WS_MAP(hours, input, output)
 *   WS_MODULE(WS_FUNCTION(0, hours))                                    in the order of manifest.json
 *
 * What the op at hand is about (time, key, window) and what may be done (emit, timers) is in wasmstream_op.h, state in
 * wasmstream_state.h, columns in wasmstream_row.h.
 *
 * Build: clang --target=wasm32 -nostdlib -O3 -mbulk-memory -Wl,--no-entry -Wl,-z,stack-size=65536
 */
#ifndef WASMSTREAM_H
#define WASMSTREAM_H

#include "wasmstream_roles.h"

/* Whether a frame opens the function: then that is all there is in it. */
WS_PART inline const wasmstream_op *ws_opening(const uint8_t *frame) {
  const wasmstream_op *op = WS_ROW(const wasmstream_op, frame, ((const wasmstream_header *)(const void *)frame)->ops_offset);
  return op->kind == WASMSTREAM_OP_OPEN ? op : 0;
}

/* A function of the module. Of one with parameters, NAME_open(ws_op *o, const PARAMETERS *p) gets them, once in each
 * instance and before all else; one that takes any input finds its schema there. */
#define WS_FUNCTION(index, name) case index: if (!ws_opening(frame)) ws_run_##name(frame); break;
#define WS_FUNCTION_WITH(index, name, parameters) \
  case index: \
    if (ws_opening(frame)) { \
      ws_op now = {frame, (const wasmstream_header *)(void *)frame, ws_opening(frame), 0}; \
      name##_open(&now, WS_ROW(const parameters, frame, now.op->row)); \
    } else { \
      ws_run_##name(frame); \
    } \
    break;

/* Defines the module's exports. Here a pointer is 32 bits wide; natively the effects are read from ws_effects. */
#define WS_MODULE(functions) \
  WS_EXTERN WS_EXPORT(WASMSTREAM_EXPORT_MARKER) void ws_marker(void) {} \
  WS_EXTERN WS_EXPORT(WASMSTREAM_EXPORT_IN) void *ws_in(uint32_t size) { return size > sizeof(ws_frame) ? 0 : ws_frame; } \
  WS_EXTERN WS_EXPORT(WASMSTREAM_EXPORT_CALL) uint64_t ws_call(uint32_t function, uint8_t *frame, uint32_t length) { \
    const wasmstream_header *h = (const wasmstream_header *)(void *)frame; \
    if (h->total_length != length || h->version != WASMSTREAM_VERSION) WS_FAIL("wasmstream: a frame of another version"); \
    ws_effects_end = 0; \
    ws_full = 0; \
    switch (function) { \
      functions \
      default: WS_FAIL("wasmstream: the module has no function of that index"); \
    } \
    if (ws_full && h->ops_count == 1) ws_lacks_room(); \
    if (ws_full) return WASMSTREAM_TOO_LARGE; \
    return (uint64_t)(uintptr_t)ws_effects << 32 | ws_effects_end; \
  }

#endif
