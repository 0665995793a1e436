/** Host and port as people write them. IPv6 hosts are held without brackets and shown with them. */
export interface Address {
  host: string;
  port: number;
}

/**
 * `127.0.0.1:9092`, `[::1]:9092`, `:9092` (empty host). A URL's scheme or Kafka's listener name in front is skipped.
 * With `defaultPort` the port may be missing. Undefined when the text is no address.
 */
export function parseAddress(text: string, defaultPort?: number): Address | undefined {
  const bare = text.trim().replace(/^[A-Za-z][A-Za-z0-9+._-]*:\/\//, "");
  const match = /^(?:\[([^\]]*)\]|([^:[\]]*))(?::(\d{1,5}))?$/.exec(bare);
  if (!match) return undefined;
  const port = match[3] === undefined ? defaultPort : Number(match[3]);
  if (port === undefined || port > 65_535) return undefined;
  return { host: match[1] ?? match[2] ?? "", port };
}

export function showAddress(address: Address): string {
  return address.host.includes(":") ? `[${address.host}]:${address.port}` : `${address.host}:${address.port}`;
}

/** True for the addresses that mean "every interface" and that no client can dial. */
export function isWildcardHost(host: string): boolean {
  return host === "" || host === "0.0.0.0" || host === "::" || host === "*" || /^(0*:)+0*$/.test(host);
}
