/* Plays frames natively: reads {u32 function, u32 length, u32 broadcast states, u32 states of windows, u32 owners, owners, frame} from standard input until its end, and
 * writes {u32 length, effects}, the frame as it is after the call, {u32 entries, entries of list and map states}. Built with
 * the guest's source: cc -include my.c native.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void ws_log(uint32_t level, const char *text, uint32_t length) { fprintf(stderr, "%u %.*s\n", level, (int)length, text); }

void ws_fail(const char *text, uint32_t length) {
  fprintf(stderr, "%.*s\n", (int)length, text);
  exit(1);
}

/* Whose states each op has, of a key, of a window, and of windows that were merged into that; and which states, one bit for each, are broadcast
 * (theirs is owner 0) or of windows. */
typedef struct { uint32_t key, window, merged[6]; } owners;
static owners of[4096];
static uint32_t broadcast, windowed;

/* Above its index a call has which of the merged windows it is about, counted from 1. */
static uint32_t owner_of(uint32_t op, uint32_t *state) {
  uint32_t merged = *state >> 16;
  *state &= 0xFFFF;
  if (merged) return of[op].merged[merged - 1];
  if (broadcast >> *state & 1) return 0;
  return windowed >> *state & 1 ? of[op].window : of[op].key;
}

/* The entries of all states, ordered by owner, state and key; a list's keys are its positions, up to 255. */
typedef struct { uint32_t owner, state, key_length, value_length; uint8_t key[256], value[256]; } entry;
static entry entries[256];
static uint32_t used;

static int compare(const entry *e, uint32_t owner, uint32_t state, const uint8_t *key, uint32_t length) {
  if (e->owner != owner) return e->owner < owner ? -1 : 1;
  if (e->state != state) return e->state < state ? -1 : 1;
  if (length == 0) return 1;
  int c = memcmp(e->key, key, e->key_length < length ? e->key_length : length);
  return c ? c : (int)e->key_length - (int)length;
}

/* Where the first entry is that is not before. */
static uint32_t place(uint32_t owner, uint32_t state, const void *key, uint32_t length) {
  uint32_t i = 0;
  while (i < used && compare(&entries[i], owner, state, (const uint8_t *)key, length) < 0) i++;
  return i;
}

static int is_of(uint32_t i, uint32_t owner, uint32_t state) { return i < used && entries[i].owner == owner && entries[i].state == state; }

int32_t ws_state_get(uint32_t op, uint32_t state, const void *key, uint32_t key_length, void *into, uint32_t into_length) {
  uint32_t owner = owner_of(op, &state);
  uint32_t i = place(owner, state, key, key_length);
  if (i == used || compare(&entries[i], owner, state, (const uint8_t *)key, key_length) != 0) return -1;
  if (entries[i].value_length <= into_length) memcpy(into, entries[i].value, entries[i].value_length);
  return (int32_t)entries[i].value_length;
}

void ws_state_put(uint32_t op, uint32_t state, const void *key, uint32_t key_length, const void *value, uint32_t value_length) {
  uint32_t owner = owner_of(op, &state);
  uint8_t position[8] = {0};
  if (key_length == 0) {
    uint32_t i = place(owner, state, 0, 0);
    while (is_of(i, owner, state)) i++, position[0]++;
    position[0]++;
    key = position;
    key_length = 8;
  }
  uint32_t i = place(owner, state, key, key_length);
  if (!is_of(i, owner, state) || compare(&entries[i], owner, state, (const uint8_t *)key, key_length) != 0) {
    memmove(&entries[i + 1], &entries[i], (used++ - i) * sizeof(entry));
  }
  entries[i].owner = owner;
  entries[i].state = state;
  entries[i].key_length = key_length;
  entries[i].value_length = value_length;
  memcpy(entries[i].key, key, key_length);
  memcpy(entries[i].value, value, value_length);
}

void ws_state_delete(uint32_t op, uint32_t state, const void *key, uint32_t key_length) {
  uint32_t owner = owner_of(op, &state);
  uint32_t i = place(owner, state, key, key_length);
  while (is_of(i, owner, state)) {
    if (key_length && compare(&entries[i], owner, state, (const uint8_t *)key, key_length) != 0) return;
    memmove(&entries[i], &entries[i + 1], (--used - i) * sizeof(entry));
  }
}

int32_t ws_state_scan(uint32_t op, uint32_t state, const void *after, uint32_t after_length, void *into, uint32_t into_length) {
  uint32_t owner = owner_of(op, &state);
  uint32_t i = place(owner, state, after, after_length), n = 0;
  if (after_length && is_of(i, owner, state)) i++;
  for (; is_of(i, owner, state); i++) {
    const entry *e = &entries[i];
    uint32_t key = (e->key_length + 7) & ~7u, value = (e->value_length + 7) & ~7u;
    if (n + 8 + key + value > into_length) return n ? (int32_t)n : -(int32_t)(8 + key + value);
    uint8_t *to = (uint8_t *)into + n;
    memcpy(to, &e->key_length, 8);
    memcpy(to + 8, e->key, e->key_length);
    memcpy(to + 8 + key, e->value, e->value_length);
    n += 8 + key + value;
  }
  return (int32_t)n;
}

int main(void) {
  uint32_t head[5];
  while (fread(head, 4, 5, stdin) == 5) {
    uint8_t *frame = (uint8_t *)ws_in(head[1]);
    if (!frame || fread(of, sizeof(owners), head[4], stdin) != head[4] || fread(frame, 1, head[1], stdin) != head[1]) return 2;
    broadcast = head[2];
    windowed = head[3];
    uint64_t answer = ws_call(head[0], frame, head[1]);
    if (answer == WASMSTREAM_TOO_LARGE) return 3;
    uint32_t length = (uint32_t)answer;
    fwrite(&length, 4, 1, stdout);
    fwrite(ws_effects, 1, length, stdout);
    fwrite(frame, 1, head[1], stdout);
    fwrite(&used, 4, 1, stdout);
    for (uint32_t i = 0; i < used; i++) {
      fwrite(&entries[i], 4, 4, stdout);
      fwrite(entries[i].key, 1, entries[i].key_length, stdout);
      fwrite(entries[i].value, 1, entries[i].value_length, stdout);
    }
    fflush(stdout);
  }
  return 0;
}
