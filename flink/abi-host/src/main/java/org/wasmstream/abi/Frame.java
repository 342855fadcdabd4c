package org.wasmstream.abi;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** A frame's header, and access to its bytes. */
final class Frame {
  final byte[] bytes;
  final ByteBuffer at;
  final int ops;
  final int opsOffset;
  final int slots;
  final int slotsOffset;
  final int stride;

  Frame(byte[] bytes) {
    this.bytes = bytes;
    at = view(bytes);
    if (at.getInt(Abi.HEADER_AT_VERSION) != Abi.VERSION || at.getInt(Abi.HEADER_AT_TOTAL_LENGTH) != bytes.length) {
      throw new IllegalArgumentException("not a frame of version " + Abi.VERSION + " and " + bytes.length + " bytes");
    }
    ops = at.getInt(Abi.HEADER_AT_OPS_COUNT);
    opsOffset = at.getInt(Abi.HEADER_AT_OPS_OFFSET);
    slots = at.getInt(Abi.HEADER_AT_SLOTS_COUNT);
    slotsOffset = at.getInt(Abi.HEADER_AT_SLOTS_OFFSET);
    stride = at.getInt(Abi.HEADER_AT_SLOT_STRIDE);
  }

  static ByteBuffer view(byte[] bytes) {
    return ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
  }

  int kind(int op) {
    return at.getShort(opsOffset + op * Abi.OP_BYTES + Abi.OP_AT_KIND) & 0xFFFF;
  }

  static int align(int n) {
    return (n + 7) & ~7;
  }
}
