/**
 * Tagged fields (KIP-482): optional fields of flexible versions, each a number, a length and its bytes.
 * Those that a definition does not know are kept as they came, in ascending order, and written back.
 */
export interface TaggedField {
  tag: number;
  data: Uint8Array;
}

/** Base of every generated message type. */
export interface Tagged {
  unknownTaggedFields?: TaggedField[];
}
