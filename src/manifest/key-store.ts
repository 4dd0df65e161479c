/**
 * The user's keys: a folder of mode 0700 that holds, for each key of the user's own, `NAME.pem` (PKCS#8, 0600),
 * `NAME.pub.pem` (SPKI) and `NAME.pub` (OpenSSH). A `.pub.pem` or `.pub` alone is somebody else's key that the user
 * trusts. The private key never leaves this folder, and no engine is ever started with its path or bytes.
 */

import { createPrivateKey, generateKeyPairSync, type KeyObject, randomUUID, sign } from 'node:crypto';
import { chmod, link, open, readdir, readFile, rm, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { QualifyError } from '../errors.js';
import { configFolder } from '../harness.js';
import { replaceFile } from '../machine/replace-file.js';
import { makeFolder } from '../make-folder.js';
import { nameSchema } from '../matrix/schema.js';
import { shellPath, shellWord } from '../shell-word.js';
import { type PublicKey, publicKeyFromObject, sshLine } from './public-key.js';
import { readPublicKey } from './public-key-file.js';

/** Name of the key that the first run makes and that sessions sign with. */
export const DEFAULT_KEY = 'default';

/** A key that can sign, wherever its private half is. */
export interface SigningKey {
  readonly name: string;
  readonly publicKey: PublicKey;
  /** The signature over `message`, spelt as `isSignedBy` takes it. */
  sign(message: Uint8Array): Promise<Buffer>;
}

/** A key of the user's folder, private half included. */
export interface OwnKey extends SigningKey {
  readonly privateKey: KeyObject;
  readonly path: string;
}

/** A key of the folder, its own or a trusted one. */
export interface StoredKey {
  readonly name: string;
  readonly publicKey: PublicKey;
  /** True when the private half is there too. */
  readonly own: boolean;
  readonly path: string;
}

/** `$XDG_CONFIG_HOME/qualify/keys`, or below `~/.config`. */
export function keyFolder(environment: NodeJS.ProcessEnv = process.env): string {
  return join(configFolder(environment), 'keys');
}

/** Does what needs the folder of keys; what the system says against it becomes ERR_QUALIFY_KEY_FOLDER (exit 15). */
export async function inFolder<T>(folder: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    if (cause instanceof QualifyError || !(cause instanceof Error && 'code' in cause)) throw cause;
    throw new QualifyError('ERR_QUALIFY_KEY_FOLDER', `The folder of keys ${folder} cannot be used.`, {
      exit: 'infrastructure',
      where: cause.message,
      hint: 'Set XDG_CONFIG_HOME to a folder that you may read and write.',
      cause,
    });
  }
}

/** Makes a key. Refuses to replace one. */
export function generateKey(name: string = DEFAULT_KEY, folder = keyFolder()): Promise<OwnKey> {
  return inFolder(folder, () => makeKey(name, folder));
}

async function makeKey(name: string, folder: string): Promise<OwnKey> {
  checkName(name);
  // Whoever may write above the folder can put another in its place.
  makeFolder(folder, 0o700);
  await chmod(folder, 0o700);
  const path = join(folder, `${name}.pem`);
  const partial = await writeNewPrivateKey(name, folder);
  try {
    // A link fails where a rename would replace: of two processes that start together, one wins and no key is lost.
    await link(partial, path);
  } catch (cause) {
    throw isErrno(cause, 'EEXIST') ? alreadyThere(name, path) : cause;
  } finally {
    await rm(partial, { force: true });
  }
  return loadKey(name, folder);
}

/** A new private key on disk, 0600, under a name that is no key's yet; answers its path. */
export async function writeNewPrivateKey(name: string, folder: string): Promise<string> {
  const { privateKey } = generateKeyPairSync('ed25519');
  const partial = join(folder, `${name}.${randomUUID()}.partial`);
  const file = await open(partial, 'wx', 0o600);
  try {
    await file.writeFile(privateKey.export({ format: 'pem', type: 'pkcs8' }));
    await file.sync();
  } finally {
    await file.close();
  }
  return partial;
}

/** Loads a key of the user's own and writes its public halves again if they are gone or are those of another key. */
export function loadKey(name: string = DEFAULT_KEY, folder = keyFolder()): Promise<OwnKey> {
  return inFolder(folder, () => readKey(name, folder));
}

async function readKey(name: string, folder: string): Promise<OwnKey> {
  checkName(name);
  await requireOwnFolder(folder);
  const path = join(folder, `${name}.pem`);
  const privateKey = await readPrivateKey(path);
  const publicKey = publicKeyFromObject(privateKey, path);
  await writeUnlessSame(join(folder, `${name}.pub.pem`), publicKey.pem);
  await writeUnlessSame(join(folder, `${name}.pub`), `${sshLine(publicKey, `qualify-${name}`)}\n`);
  return { name, publicKey, privateKey, path, sign: async (message) => sign(null, message, privateKey) };
}

/** The key that sessions sign with; the first call on a machine makes it. `created` says so, for a line on stderr. */
export async function loadOrCreateKey(folder = keyFolder()): Promise<OwnKey & { created: boolean }> {
  try {
    return { ...(await loadKey(DEFAULT_KEY, folder)), created: false };
  } catch (error) {
    if (!(error instanceof QualifyError && error.code === 'ERR_QUALIFY_NO_KEY')) throw error;
  }
  try {
    return { ...(await generateKey(DEFAULT_KEY, folder)), created: true };
  } catch (error) {
    if (!(error instanceof QualifyError && error.code === 'ERR_QUALIFY_KEY_EXISTS')) throw error;
    return { ...(await loadKey(DEFAULT_KEY, folder)), created: false };
  }
}

/** Every key of the folder by name, trusted ones included. A file that is no key is an error: trust is never guessed. */
export async function listKeys(folder = keyFolder()): Promise<StoredKey[]> {
  const files = await inFolder(folder, () =>
    readdir(folder).catch((cause: unknown): string[] => {
      if (isErrno(cause, 'ENOENT')) return [];
      throw cause;
    }),
  );
  if (files.length > 0) await inFolder(folder, () => requireOwnFolder(folder));
  const keys: StoredKey[] = [];
  for (const file of files) {
    const name = file.replace(/\.pub(\.pem)?$/, '');
    if (name === file || (file.endsWith('.pub') && files.includes(`${name}.pub.pem`))) continue;
    const path = join(folder, file);
    keys.push({ name, publicKey: await readStored(path), own: files.includes(`${name}.pem`), path });
  }
  // Killed while it wrote the public halves: the next use of the key writes them.
  for (const file of files) {
    const name = file.replace(/\.pem$/, '');
    const isAlone = name !== file && !files.includes(`${name}.pub`) && !files.includes(`${name}.pub.pem`);
    if (!isAlone || !isKeyName(name)) continue;
    const path = join(folder, file);
    keys.push({ name, publicKey: publicKeyFromObject(await readPrivateKey(path), path), own: true, path });
  }
  return keys.sort((one, other) => (one.name < other.name ? -1 : 1));
}

/** Whoever may write to it decides which keys are trusted. A folder that is not there has none. */
async function requireOwnFolder(folder: string): Promise<void> {
  const info = await stat(folder).catch((cause: unknown) => {
    if (isErrno(cause, 'ENOENT')) return null;
    throw cause;
  });
  if (info === null || (info.mode & 0o022) === 0) return;
  throw new QualifyError('ERR_QUALIFY_KEY_MODE', `${folder} can be written to by other users`, {
    exit: 'infrastructure',
    where: folder,
    hint: `Make another; or, if nobody else has put a key there: chmod 700 ${shellPath(folder)}`,
  });
}

/** Says nothing against a run that is being verified: the folder is the user's own. */
async function readStored(path: string): Promise<PublicKey> {
  try {
    return await readPublicKey(path);
  } catch (cause) {
    if (!(cause instanceof QualifyError)) throw cause;
    throw new QualifyError(
      'ERR_QUALIFY_KEY_FOLDER',
      `Your folder of keys has a file that is no key: ${cause.message}`,
      {
        exit: 'infrastructure',
        where: path,
        hint: 'Move the file away, or put the .pub or .pub.pem file of a key in its place.',
        cause,
      },
    );
  }
}

async function readPrivateKey(path: string): Promise<KeyObject> {
  const info = await stat(path).catch((cause: unknown) => {
    throw isErrno(cause, 'ENOENT') ? noKey(path, cause) : cause;
  });
  if ((info.mode & 0o077) !== 0) {
    throw new QualifyError('ERR_QUALIFY_KEY_MODE', `${path} can be read by other users`, {
      exit: 'infrastructure',
      where: path,
      hint: `Make another key; or, if nobody else has read this one: chmod 600 ${shellPath(path)}`,
    });
  }
  let key: KeyObject;
  try {
    key = createPrivateKey(await readFile(path));
  } catch (cause) {
    throw new QualifyError('ERR_QUALIFY_PRIVATE_KEY', `${path} does not parse as a PKCS#8 private key`, {
      exit: 'infrastructure',
      where: path,
      hint: 'Move the file away and run `qualify keys generate`.',
      cause,
    });
  }
  if (key.asymmetricKeyType === 'ed25519') return key;
  throw new QualifyError(
    'ERR_QUALIFY_PRIVATE_KEY',
    `${path} is a ${key.asymmetricKeyType} key; only Ed25519 is signed with`,
    {
      exit: 'infrastructure',
      where: path,
      hint: 'A key of another kind signs through a command: docs/trust.md, "External signers".',
    },
  );
}

/** Whole or not at all: half a public key would make every later run fail. A folder that has all is not written to: it may be read-only. */
async function writeUnlessSame(path: string, text: string): Promise<void> {
  const there = await readFile(path, 'utf8').catch((cause: unknown) => {
    if (!isErrno(cause, 'ENOENT')) throw cause;
    return null;
  });
  if (there !== text) await replaceFile(path, text);
}

const isKeyName = (name: string): boolean => nameSchema.safeParse(name).success && !name.includes('.');

export function checkName(name: string): void {
  if (isKeyName(name)) return;
  throw new QualifyError('ERR_QUALIFY_KEY_NAME', `"${name}" cannot name a key`, {
    exit: 'usage',
    hint: 'Use letters, digits, dashes and underscores.',
  });
}

function alreadyThere(name: string, path: string): QualifyError {
  return new QualifyError('ERR_QUALIFY_KEY_EXISTS', `there is a key "${name}" already`, {
    exit: 'usage',
    where: path,
    hint: 'Give the new one another name: qualify keys generate NAME',
  });
}

function noKey(path: string, cause: unknown): QualifyError {
  return new QualifyError('ERR_QUALIFY_NO_KEY', `there is no key ${path}`, {
    exit: 'usage',
    where: path,
    hint: `Make it: qualify keys generate ${shellWord(basename(path, '.pem'))}; or take one that you have: qualify keys list`,
    cause,
  });
}

export function isErrno(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}
