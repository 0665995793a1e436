/** Which address clients are told: the configured one, else the one that this client reached (never 0.0.0.0). */
import type { RequestContext } from "./handler.ts";

export function advertisedAddress(context: RequestContext): { host: string; port: number } {
  return context.services.config.advertised ?? { host: readable(context.localHost), port: context.localPort };
}

/** IPv4 that arrived over an IPv6 socket is shown as IPv4. */
function readable(host: string): string {
  return host.startsWith("::ffff:") && host.includes(".") ? host.slice(7) : host;
}
