package org.wasmstream.abi;

/** A module is not taken; none of its code ran. */
final class RefusedException extends Exception {
  private static final long serialVersionUID = 1;

  RefusedException(String message, Throwable cause) {
    super(message, cause);
  }
}
