package org.wasmstream.abi;

/** Answers a guest's calls on list, map and broadcast states. */
interface StateCalls {
  /** The value of a map's entry, null if there is none. */
  byte[] get(int op, int state, byte[] key) throws GuestFault;

  /** Sets a map's entry; without a key it appends to a list. */
  void put(int op, int state, byte[] key, byte[] value) throws GuestFault;

  /** Takes an entry away; without a key all of them. */
  void delete(int op, int state, byte[] key) throws GuestFault;

  /**
   * Writes entries behind one, as many whole ones as fit: their bytes, 0 at the end, or -(bytes needed) if not even one
   * fits.
   */
  int scan(int op, int state, byte[] after, byte[] into) throws GuestFault;
}
