"""Ordinary texts of agents that hold no secret: hashes, ids, code, prose, paths, addresses, versions."""

# ruff: noqa: E501 – a text of one line stays one
import base64
import hashlib
import random
import uuid
from collections.abc import Callable

_ALNUM = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
_WORDS = [
    *("the", "model", "answers", "in", "small", "steps", "while", "a", "tool", "reads", "every", "file", "of"),
    *("this", "folder", "and", "reports", "what", "it", "found", "before", "users", "ask", "again", "for"),
    *("weather", "prices", "orders", "invoices", "tickets", "and", "a", "summary", "of", "authentication"),
    *("tokens", "keys", "sessions", "cookies"),
]
_NAMES = [
    *("alpha", "build", "cache", "data", "engine", "filter", "graph", "handler", "index", "job", "kernel"),
    *("loader", "main", "node", "order", "parser", "queue"),
]

CODE = (
    "def get_token(self) -> str:\n    return self.session.token or os.environ['API_TOKEN']",
    "api_key = os.environ.get('OPENAI_API_KEY')",
    "client = OpenAI(api_key=settings.openai_api_key, max_retries=3)",
    "token: str | None = None  # the token of the next page",
    "password = getpass.getpass('Password: ')",
    "password: Annotated[SecretStr, Field(min_length=8)]",
    "const token = await fetchToken2(session.user.id);",
    "headers: { Authorization: `Bearer ${process.env.API_KEY}` }",
    "const { accessToken, refreshToken } = useAuth2();",
    'export OPENAI_API_KEY="$OPENAI_API_KEY"',
    'curl -H "Authorization: Bearer $TOKEN" https://api.example.com/v1/models',
    "curl -H 'x-api-key: <your-api-key>' https://api.example.com/v2/items?limit=10",
    "docker run --rm -u 1000:1000 -v $PWD:/app node:22.3.0-alpine3.20 npm ci",
    "git clone git@github.com:octocat/Hello-World.git && cd Hello-World",
    "git remote add origin ssh://git@gitlab.com/group/project2.git",
    'type Config struct {\n\tAPIKey string `json:"api_key" env:"API_KEY"`\n}',
    'token := r.Header.Get("Authorization")',
    'let password = std::env::var("DB_PASSWORD").expect("no DB_PASSWORD");',
    'private final String secretKey = System.getenv("SECRET_KEY");',
    "password: ${{ secrets.REGISTRY_PASSWORD }}",
    "    token: ${GITHUB_TOKEN}\n    version: 1.24.3",
    "SELECT id, password_hash FROM users WHERE token = :token AND created_at > '2024-01-01'",
    "ALTER TABLE sessions ADD COLUMN session_token VARCHAR(255) NOT NULL;",
    'if not secrets.compare_digest(token, expected_token_2):\n    raise HTTPException(401, "Bearer authentication")',
    "assert response.headers['www-authenticate'] == 'Bearer realm=\"example\"'",
    '{"type": "object", "properties": {"password": {"type": "string", "format": "password"}}, "required": ["password", "name"]}',
    '{"token": " word2vec", "logprob": -0.0123, "bytes": [32, 119], "top_logprobs": [{"token": "Hello", "logprob": -1}]}',
    '{"name": "api_key", "in": "header", "type": "apiKey"}',
    '{"usage": {"input_tokens": 49, "output_tokens": 1024}, "next_page_token": "CAUQAA1234567890"}',
    '{"max_tokens": 4096, "token_type": "bearer", "expires_in": 3600}',
    '<input type="password" name="password" autocomplete="current-password">',
    '<a href="/login?next=%2Fsettings%2Ftokens">Sign in &amp; continue</a>',
    "const keys = Object.keys(sessions).filter((key) => key !== 'token');",
    "for (const [key, value] of Object.entries(cookies)) document.cookie = `${key}=${value}`;",
    "@app.get('/api/projects/{project_id}/tokens')\nasync def list_tokens(project_id: int): ...",
    "primary_key=True, foreign_key='users.id', sort_key=1",
    "user_id = uuid4(); session_id = user_id.hex",
    "public_key = load_pem_public_key(data)",
    "for sha in $(git log --format=%H -n 20); do git show --stat $sha; done",
    "x = eyJ.parse(token)  # not a token",
)
PHRASES = (
    "task-sk-1234567890abcdef",
    "Bearer authentication",
    "/workspaces/main",
    "/workspaces/my-app2/src",
    "Basic authentication",
    "the header is `Authorization: Bearer <token>`",
    "Authorization: Basic authentication is required",
    "the password must have 8 to 64 characters",
    "Password: required, at least 12 characters",
    'token: the next one is "foo"',
    "secret: nobody knows",
    "sk-learn-based-pipelines",
    "risk-management-strategy-2024",
    "disk-encryption-at-rest-2024",
    "ask-me-anything-2024-edition",
    "task-force-sk-region-2024",
    "ASIA-PACIFIC-2024-report",
    "pk-based-lookup-table",
    "Cookie: chocolate with nuts",
    "the cookie banner is shown twice",
    "user-service2024",
    "org-chart-2024",
    "proj_alpha2024",
    "hf_model_search_tool_v2",
    "npm_install_package_version_2",
    "max_tokens: 1234567890123456",
    "GET /subscriptions/42/cancel",
    "GET /api/projects/1234/issues?page=2",
    "/home/user/project2/.venv/lib/python3.12/site-packages",
    "C:\\Users\\dev\\src\\main2.py",
    "npm install @types/node@22.5.4 react@18.3.1",
    "pip install 'openai==3.54.0'",
    "actions/checkout@v4.2.1",
    "@pytest.mark.parametrize",
    "me@example.com",
    "noreply@github.com",
    "http://user@host/path",
    "ssh://git@github.com/a/b.git",
    "https://x.test/?page_token=abc&sort=name",
    "-----BEGIN CERTIFICATE-----",
    "-----BEGIN PUBLIC KEY-----",
    "/etc/passwd: Permission denied",
    "root:x:0:0:root:/root:/bin/bash",
    "sha256sum: WARNING: 1 computed checksum did NOT match",
    "I forgot my password, and the reset token expired.",
    "He said: the secret is patience.",
    "key: value",
    "token=None",
    "SecretAccessKey is missing from the response",
    "ERROR 1045 (28000): Access denied (using password: YES)",
    "Discord, Figma, Linear and Notion each have an API token page.",
    "SKU: SK2024-0815-XL",
    "AC-2024-001 is the first rule",
)


def make_ordinary_texts(count: int = 1000, seed: int = 1) -> list[str]:
    """So many different ordinary texts, the same for a seed."""
    draw = random.Random(seed)
    texts = dict.fromkeys((*PHRASES, *CODE))
    while len(texts) < count:
        texts[_MAKERS[len(texts) % len(_MAKERS)](draw)] = None
    return list(texts)[:count]


def _chars(draw: random.Random, length: int, alphabet: str = _ALNUM) -> str:
    return "".join(draw.choice(alphabet) for _ in range(length))


def _hex(draw: random.Random, length: int) -> str:
    return _chars(draw, length, "0123456789abcdef")


def _prose(draw: random.Random) -> str:
    words = [draw.choice(_WORDS) for _ in range(draw.randint(4, 30))]
    return f"{' '.join(words).capitalize()} {draw.randint(1, 2030)}."


def _path(draw: random.Random) -> str:
    parts = [f"{draw.choice(_NAMES)}{draw.choice(['', '-', '_'])}{draw.choice([*_NAMES, '2', 'v3'])}" for _ in range(4)]
    return (
        draw.choice(["/", "./", "/workspaces/", "/home/dev/", "src/"])
        + "/".join(parts)
        + draw.choice([".py", ".tsx", "", ".rs"])
    )


def _api_id(draw: random.Random) -> str:
    prefix = draw.choice(
        ["resp", "msg", "fc", "rs", "call", "chatcmpl", "run", "thread", "vs", "item", "ws", "file", "req", "cntr"]
    )
    body = _hex(draw, 48) if draw.random() < 0.6 else _chars(draw, 24)
    return f"{prefix}{'-' if prefix in ('file', 'chatcmpl') else '_'}{body}"


def _git_log(draw: random.Random) -> str:
    lines = [f"{_hex(draw, draw.choice([7, 10, 40]))} {_prose(draw)[:50]}" for _ in range(draw.randint(1, 6))]
    return "\n".join(lines)


def _image(draw: random.Random) -> str:
    data = b"\x89PNG\r\n\x1a\n" + draw.randbytes(draw.randint(60, 600))
    return f"data:image/png;base64,{base64.b64encode(data).decode()}"


def _python(draw: random.Random) -> str:
    one, two = draw.choice(_NAMES), draw.choice(_NAMES)
    return f"def {one}_{two}{draw.randint(1, 9)}({two}: dict[str, int], key: str) -> int:\n    return {two}[key] + {draw.randint(1, 10**9)}"


def _typescript(draw: random.Random) -> str:
    one, two = draw.choice(_NAMES), draw.choice(_NAMES).title()
    return f"export const {one}{two}V{draw.randint(1, 9)} = (token: Token{two}): Promise<Map<string, {two}>> => {one}.get(token.id);"


def _go(draw: random.Random) -> str:
    name = draw.choice(_NAMES).title()
    return f"func (s *{name}Server{draw.randint(1, 9)}) Get{name}(ctx context.Context, key string) (*{name}, error) {{ return s.m[key], nil }}"


def _rust(draw: random.Random) -> str:
    name = draw.choice(_NAMES)
    return f"pub fn {name}_v{draw.randint(1, 9)}(token: &Token) -> Result<{name.title()}2, Error> {{ token.secret.{name}() }}"


def _sql(draw: random.Random) -> str:
    return f"SELECT {draw.choice(_NAMES)}_id, token_count FROM {draw.choice(_NAMES)}s2 WHERE key = '{draw.choice(_NAMES)}{draw.randint(1, 99)}'"


def _version(draw: random.Random) -> str:
    name = draw.choice(_NAMES)
    return f"{name}-{draw.choice(_NAMES)}=={draw.randint(0, 30)}.{draw.randint(0, 99)}.{draw.randint(0, 9)}rc1 sha256:{_hex(draw, 64)}"


def _url(draw: random.Random) -> str:
    site = draw.choice(
        ["https://example.com", "https://docs.python.org", "https://github.com/a/b/blob", "http://localhost:8080"]
    )
    return f"{site}{_path(draw)}?page={draw.randint(1, 99)}&sort={draw.choice(_NAMES)}&id={uuid.UUID(int=draw.getrandbits(128))}#L{draw.randint(1, 999)}"


def _words(draw: random.Random) -> str:
    return draw.choice("-_.").join(draw.choice(_NAMES) for _ in range(draw.randint(2, 6))) + str(draw.randint(1, 9999))


def _log(draw: random.Random) -> str:
    return (
        f"2026-0{draw.randint(1, 9)}-{draw.randint(10, 28)}T12:{draw.randint(10, 59)}:07.{draw.randint(100, 999)}Z INFO "
        f"{draw.choice(_NAMES)}.{draw.choice(_NAMES)}[{draw.randint(1, 65000)}] trace={_hex(draw, 32)} span={_hex(draw, 16)} took {draw.random():.4f}s"
    )


def _json(draw: random.Random) -> str:
    return (
        f'{{"id": "{_api_id(draw)}", "key": "{_words(draw)}", "etag": "{_hex(draw, 32)}", "total_tokens": {draw.randint(1, 9999)}, '
        f'"cursor": "{_chars(draw, 20)}", "tokens": ["{draw.choice(_WORDS)}", "{_words(draw)}"]}}'
    )


_MAKERS: tuple[Callable[[random.Random], str], ...] = (
    lambda draw: str(uuid.UUID(int=draw.getrandbits(128))),
    lambda draw: hashlib.sha1(draw.randbytes(8)).hexdigest(),
    lambda draw: hashlib.sha256(draw.randbytes(8)).hexdigest().upper(),
    lambda draw: f"integrity sha512-{base64.b64encode(hashlib.sha512(draw.randbytes(8)).digest()).decode()}",
    lambda draw: f"{_hex(draw, 12)}-{_hex(draw, 4)}",
    *(_git_log, _prose, _path, _api_id, _image, _python, _typescript, _go),
    *(_rust, _sql, _version, _url, _words, _log, _json),
)
