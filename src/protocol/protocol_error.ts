/**
 * The one error of this folder: bytes that are no message of the stated version, or a value that the version cannot carry.
 * A listener that meets it while reading closes that connection; it never means that the node is broken.
 */
export class ProtocolError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "ProtocolError";
  }
}
