/** What one produced record means for its table. */

export type Change =
  | {
      kind: "upsert";
      /** A JSON object, to be read as a plainly produced row is. A span of the record's value where nothing had to change. */
      row: Uint8Array;
      /** Columns whose value the source did not send because it had not changed: the stored value stays. They are not in `row`. */
      unchanged?: string[];
      /** A JSON object of the key columns that the record's key gives, in key order; absent when it gives none. */
      key?: Uint8Array;
    }
  /** `key`: a JSON object of all key columns, in key order. */
  | { kind: "delete"; key: Uint8Array }
  | { kind: "truncate" }
  /** Nothing for the table. */
  | { kind: "skip"; why: SkipReason }
  /** The record is no change of the table; the message says why. */
  | { kind: "fault"; message: string };

/** Records that connectors send beside rows; counted by these names. */
export type SkipReason = "heartbeat" | "message" | "transaction" | "schema_change";
