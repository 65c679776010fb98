/** The folder of the gateway. The path is the same from `src` and from the files of the build. */
export const FOLDER = new URL("../", import.meta.url);
