/**
 * Why bytes could not be decompressed or records not be walked. The layers above turn it into the answer their
 * protocol has for it; nothing here knows Kafka's error codes.
 */
export type CodecFault = "corrupt" | "too_large" | "unsupported";

export class CodecError extends Error {
  readonly fault: CodecFault;

  constructor(fault: CodecFault, message: string) {
    super(message);
    this.name = "CodecError";
    this.fault = fault;
  }
}
