//! A certificate for `allowed.com` and `other.com` that nobody trusts but these tests, good from
//! 2020 to 2120. The key that goes with it opens nothing.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::sync::Arc;

const CERTIFICATE: &str = concat!(
    "MIIBcDCCARWgAwIBAgIBATAKBggqhkjOPQQDAjAWMRQwEgYDVQQDDAthbGxvd2VkLmNvbTAgFw0yMDAxMDEwMDAwMDBaGA8yMTIw",
    "MDEwMTAwMDAwMFowFjEUMBIGA1UEAwwLYWxsb3dlZC5jb20wWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAAQPtPkUAH5u/Q16t4Ix",
    "+30fCHx5NH1v4HgLXTZcxNlSkYauoBxE5jssov6GOWPj0H9ca76kHPsHnWsfhesoSsSFo1IwUDAhBgNVHREEGjAYggthbGxvd2Vk",
    "LmNvbYIJb3RoZXIuY29tMAwGA1UdEwEB/wQCMAAwHQYDVR0OBBYEFEUSvOfdGnGPf6P7T0QH36mSWLN4MAoGCCqGSM49BAMCA0kA",
    "MEYCIQCwmQD9S5WLVTMyR0+SHGM/eAEwzS4rTaFlbZ2/LPI+ugIhAI3J5FPZ2GxOuFm/9dMSgxTWrock/mxFahPlOQz9uOAy",
);

const KEY: &str = concat!(
    "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgbIH80YdbDw/cU4Ys3znj5fMehAyEnFe8ei9VGVScoW6hRANCAAQP",
    "tPkUAH5u/Q16t4Ix+30fCHx5NH1v4HgLXTZcxNlSkYauoBxE5jssov6GOWPj0H9ca76kHPsHnWsfhesoSsSF",
);

fn certificate() -> CertificateDer<'static> {
    STANDARD.decode(CERTIFICATE).unwrap().into()
}

/// The server's side.
pub(super) fn acceptor() -> tokio_rustls::TlsAcceptor {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = rustls::ServerConfig::builder_with_provider(provider);
    let builder = builder.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
    let key = PrivateKeyDer::try_from(STANDARD.decode(KEY).unwrap()).unwrap();
    let mut config = builder.with_single_cert(vec![certificate()], key).unwrap();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Arc::new(config).into()
}

/// The side of a client that trusts this certificate and no other.
pub(super) fn trusting() -> Arc<rustls::ClientConfig> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut roots = rustls::RootCertStore::empty();
    roots.add(certificate()).unwrap();
    let builder = rustls::ClientConfig::builder_with_provider(provider);
    let builder = builder.with_safe_default_protocol_versions().unwrap();
    Arc::new(builder.with_root_certificates(roots).with_no_client_auth())
}
