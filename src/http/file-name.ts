/** Names a file: in ASCII, and as it is where that is not the same (RFC 6266). */
export function named(disposition: "inline" | "attachment", name: string) {
  const plain = name.replaceAll(/[^\w.-]/g, "_");
  const exact = encodeURIComponent(name).replaceAll(
    /['()*]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16)}`,
  );
  const extended = plain === name ? "" : `; filename*=UTF-8''${exact}`;
  return { "content-disposition": `${disposition}; filename="${plain}"${extended}` };
}
