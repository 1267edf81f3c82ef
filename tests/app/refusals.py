"""How the server seals its answers and refuses."""

SEALS = ("Content-Security-Policy", "X-Content-Type-Options", "X-Frame-Options")
SEALS += ("Referrer-Policy", "Cross-Origin-Opener-Policy", "Permissions-Policy")


def check_refused(reply, *codes):
    """A refusal is one sentence with a code that blames the request, sealed like the rest."""
    assert reply.status in (codes or range(400, 500)), reply
    assert "Traceback" not in reply.text
    assert len(reply.text) < 700
    assert all(name in reply.headers for name in SEALS)
