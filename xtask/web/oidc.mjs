// A small identity provider for tests: node oidc.mjs PORT REDIRECT. It signs in whoever is named, and
// prints `ready` when it listens. PKCE is required; clients are public. KIT names the folder with
// oidc-provider.
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const [, , port, redirect] = process.argv;
const require = createRequire(`${process.env.KIT}/`);
const { default: Provider } = await import(pathToFileURL(require.resolve('oidc-provider')).href);
const provider = new Provider(`http://127.0.0.1:${port}`, {
  clients: [
    {
      client_id: 'steward',
      redirect_uris: [redirect],
      token_endpoint_auth_method: 'none',
      grant_types: ['authorization_code'],
      response_types: ['code'],
    },
  ],
  pkce: { required: () => true },
  claims: { openid: ['sub'], email: ['email', 'email_verified'] },
  conformIdTokenClaims: false,
  cookies: { keys: ['a key of the test'] },
  findAccount: (_, id) => ({
    accountId: id,
    claims: () => ({ sub: id, email: `${id}@example.com`, email_verified: true }),
  }),
});
provider.listen(Number(port), '127.0.0.1', () => console.log('ready'));
