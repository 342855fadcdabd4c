/* Plays frames natively: reads {u32 function, u32 length, frame} from standard input until its end, and writes the frame as it
 * is after the call, and {u32 length, effects}. Built with the guest's source: cc -include my.c native.c. */
#include <stdio.h>
#include <stdlib.h>

void ws_log(uint32_t level, const char *text, uint32_t length) { fprintf(stderr, "%u %.*s\n", level, (int)length, text); }

void ws_fail(const char *text, uint32_t length) {
  fprintf(stderr, "%.*s\n", (int)length, text);
  exit(1);
}

int main(void) {
  uint32_t head[2];
  while (fread(head, 4, 2, stdin) == 2) {
    uint8_t *frame = ws_in(head[1]);
    if (!frame || fread(frame, 1, head[1], stdin) != head[1]) return 2;
    uint64_t answer = ws_call(head[0], frame, head[1]);
    if (answer == WASMSTREAM_TOO_LARGE) return 3;
    uint32_t length = (uint32_t)answer;
    fwrite(frame, 1, head[1], stdout);
    fwrite(&length, 4, 1, stdout);
    fwrite(ws_effects, 1, length, stdout);
  }
  return 0;
}
