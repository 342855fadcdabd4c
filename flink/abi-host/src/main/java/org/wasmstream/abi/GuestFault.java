package org.wasmstream.abi;

/** A guest went wrong. It is data: what it costs is the caller's policy. */
final class GuestFault extends Exception {
  private static final long serialVersionUID = 1;

  final Abi.Fault kind;

  GuestFault(Abi.Fault kind, String message) {
    super(message);
    this.kind = kind;
  }
}
