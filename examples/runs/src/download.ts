import { CombinedError } from "urql";

/** Loads a file with the token, which a plain link does not carry. Throws a CombinedError. */
export async function download(url: string, token: string, onBytes: (loaded: number) => void): Promise<Blob> {
  const parts: BlobPart[] = [];
  let loaded = 0;
  try {
    const response = await fetch(url, { headers: { authorization: `token ${token}` } });
    // A failure is reported as in GraphQL.
    if (!response.ok) throw new CombinedError({ graphQLErrors: (await response.json()).errors });
    const reader = response.body?.getReader();
    for (let read = await reader?.read(); read && !read.done; read = await reader?.read()) {
      parts.push(read.value);
      onBytes((loaded += read.value.length));
    }
  } catch (cause) {
    if (cause instanceof CombinedError) throw cause;
    // A download that breaks off ends here too: a cut file is never saved.
    throw new CombinedError({ networkError: cause instanceof Error ? cause : new Error(String(cause)) });
  }
  return new Blob(parts);
}

/** Lets the browser save a file. */
export function save(name: string, bytes: Blob): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(bytes);
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}
