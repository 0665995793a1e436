/** Kafka's ids: 16 bytes, written as 22 letters of URL-safe base64 without padding (org.apache.kafka.common.Uuid's text form). */
import { Buffer } from "node:buffer";

export type Uuid = string;

/** The id that stands for "none" on the wire: 16 zero bytes. */
export const zeroUuid: Uuid = "AAAAAAAAAAAAAAAAAAAAAA";

/** A new random (version 4) id whose text does not begin with a dash, as Kafka avoids it for the sake of command lines. */
export function randomUuid(): Uuid {
  for (;;) {
    const bytes = crypto.getRandomValues(new Uint8Array(16));
    bytes[6] = (bytes[6]! & 0x0f) | 0x40;
    bytes[8] = (bytes[8]! & 0x3f) | 0x80;
    const text = uuidText(bytes);
    if (!text.startsWith("-")) return text;
  }
}

/** `bytes` holds the id at `start`. */
export function uuidText(bytes: Uint8Array, start = 0): Uuid {
  return Buffer.from(bytes.buffer, bytes.byteOffset + start, 16).toString("base64url");
}

/** The 16 bytes of an id; throws a TypeError for text that is no id. */
export function uuidBytes(text: Uuid): Uint8Array {
  const bytes = Buffer.from(text, "base64url");
  if (bytes.length !== 16) throw new TypeError(`"${text}" is not a 16-byte id in base64url`);
  return bytes;
}
