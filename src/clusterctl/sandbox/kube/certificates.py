"""A certificate authority for each cluster, and the certificate of its API on loopback."""

from __future__ import annotations

import ipaddress
import os
import ssl
import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

_LIFETIME = timedelta(days=3650)  # real time: clients check it against their own clock


@dataclass(frozen=True, slots=True)
class Certificates:
    """PEM texts: the authority that clients trust, and the server's certificate with its key."""

    authority: str
    certificate: str
    key: str

    @classmethod
    def issue(cls, cluster: str) -> Certificates:
        """A fresh authority and a certificate for 127.0.0.1, localhost and the in-cluster names."""
        authority_key, server_key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
        issuer = _name(f"{cluster}-ca")
        authority = (
            _builder(issuer, issuer, authority_key.public_key())
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(_usage(signs=True), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(authority_key.public_key()), critical=False)
            .sign(authority_key, hashes.SHA256())
        )
        issued_by = x509.AuthorityKeyIdentifier.from_issuer_public_key(authority_key.public_key())
        certificate = (
            _builder(_name("kube-apiserver"), issuer, server_key.public_key())
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_usage(signs=False), critical=True)
            .add_extension(_alternative_names(), critical=False)
            .add_extension(issued_by, critical=False)
            .sign(authority_key, hashes.SHA256())
        )
        return cls(_pem(authority), _pem(certificate), _key_pem(server_key))

    def server_context(self) -> ssl.SSLContext:
        """TLS for a server; the ssl module reads keys from files only, so they lie in one for a moment."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        handle, path = tempfile.mkstemp(suffix=".pem")
        try:
            with os.fdopen(handle, "w") as file:
                file.write(self.certificate + self.key)
            context.load_cert_chain(path)
        finally:
            Path(path).unlink()
        return context


def _name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common[:64])])


def _builder(subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
    start = datetime.now(UTC) - timedelta(hours=1)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(start)
        .not_valid_after(start + _LIFETIME)
    )


def _usage(*, signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs,
        key_cert_sign=signs,
        crl_sign=signs,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _alternative_names() -> x509.SubjectAlternativeName:
    names = ("localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc")
    addresses = ("127.0.0.1", "10.100.0.1")
    return x509.SubjectAlternativeName(
        [*map(x509.DNSName, names), *(x509.IPAddress(ipaddress.ip_address(address)) for address in addresses)]
    )


def _pem(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(serialization.Encoding.PEM).decode()


def _key_pem(key: ec.EllipticCurvePrivateKey) -> str:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode()
