"""Secrets of many kinds, made up at run time: no scanner of a code host finds one in the source."""

import random
import string

from tests.support.texts.planted_names import BESIDE_A_NAME

_RANDOM = random.Random(5)
_HEX, _LOWER, _ALNUM = (
    string.hexdigits[:16],
    string.ascii_lowercase + string.digits,
    string.ascii_letters + string.digits,
)
_UPPER = string.ascii_uppercase + string.digits


def _draw(length: int, alphabet: str = _ALNUM) -> str:
    """Characters with a digit, a letter and, where the alphabet has both cases, both among them."""
    while True:
        drawn = "".join(_RANDOM.choice(alphabet) for _ in range(length))
        cases = any(map(str.islower, drawn)) + any(map(str.isupper, drawn))
        wanted = any(map(str.islower, alphabet)) + any(map(str.isupper, alphabet))
        if any(map(str.isdigit, drawn)) == any(map(str.isdigit, alphabet)) and cases == wanted:
            return drawn


def _lines(count: int, width: int = 64) -> str:
    return "\n".join(_draw(width) for _ in range(count)) + "\n" + _draw(22) + "=="


def _begin(what: str) -> str:
    return "-----" + "BEGIN " + what + "-----"


TOKENS: dict[str, str] = {
    "OpenAI project": "sk" + "-proj-" + _draw(60),
    "OpenAI service account": "sk" + "-svcacct-" + _draw(60),
    "OpenAI": "sk" + "-" + _draw(48),
    "Anthropic": "sk" + "-ant-api03-" + _draw(93) + "AA",
    "OpenRouter": "sk" + "-or-v1-" + _draw(64, _HEX),
    "Groq": "gs" + "k_" + _draw(52),
    "xAI": "xa" + "i-" + _draw(80),
    "Perplexity": "pp" + "lx-" + _draw(48),
    "Hugging Face": "h" + "f_" + _draw(34),
    "Replicate": "r" + "8_" + _draw(37),
    "ElevenLabs": "s" + "k_" + _draw(48, _HEX),
    "Tavily": "tv" + "ly-dev-" + _draw(32),
    "Firecrawl": "f" + "c-" + _draw(32, _HEX),
    "LangSmith": "lsv2" + "_pt_" + _draw(32, _HEX) + "_" + _draw(10, _HEX),
    "NVIDIA": "nva" + "pi-" + _draw(64),
    "Pinecone": "pcs" + "k_" + _draw(60),
    "GitHub": "gh" + "p_" + _draw(36),
    "GitHub app": "gh" + "s_" + _draw(36),
    "GitHub fine-grained": "github" + "_pat_" + _draw(22) + "_" + _draw(59),
    "GitLab": "gl" + "pat-" + _draw(20),
    "GitLab CI": "gl" + "cbt-64_" + _draw(20),
    "GitLab runner": "gl" + "rt-" + _draw(20),
    "GitLab deploy": "gl" + "dt-" + _draw(20),
    "GitLab trigger": "gl" + "ptt-" + _draw(40, _HEX),
    "GitLab feed": "gl" + "ft-" + _draw(20),
    "GitLab registration": "GR" + "1348941" + _draw(20),
    "npm": "np" + "m_" + _draw(36),
    "PyPI": "py" + "pi-" + _draw(90),
    "RubyGems": "ruby" + "gems_" + _draw(48, _HEX),
    "Docker": "dckr" + "_pat_" + _draw(27),
    "CircleCI": "CCI" + "PAT_" + _draw(22) + "_" + _draw(40, _HEX),
    "Atlassian": "ATA" + "TT3xFfGF0" + _draw(180),
    "Bitbucket": "AT" + "BB" + _draw(32),
    "Linear": "lin" + "_api_" + _draw(40),
    "Linear OAuth": "lin" + "_oauth_" + _draw(64, _HEX),
    "Notion": "nt" + "n_" + _draw(11, string.digits) + _draw(35),
    "Notion of old": "sec" + "ret_" + _draw(43),
    "Figma": "fig" + "d_" + _draw(40),
    "Twilio key": "S" + "K" + _draw(32, _HEX),
    "Twilio account": "A" + "C" + _draw(32, _HEX),
    "Discord": "M" + _draw(25) + "." + _draw(6) + "." + _draw(38),
    "Telegram": _draw(9, string.digits) + ":AA" + _draw(33),
    "Slack bot": "xo" + "xb-" + _draw(12, string.digits) + "-" + _draw(24),
    "Slack app": "xa" + "pp-1-" + _draw(11, _UPPER) + "-" + _draw(13, string.digits) + "-" + _draw(64, _HEX),
    "SendGrid": "S" + "G." + _draw(22) + "." + _draw(43),
    "Brevo": "xkey" + "sib-" + _draw(64, _HEX) + "-" + _draw(16),
    "Mailgun": "ke" + "y-" + _draw(32, _HEX),
    "Mailchimp": _draw(32, _HEX) + "-u" + "s12",
    "Airtable": "pa" + "t" + _draw(14) + "." + _draw(64, _HEX),
    "Postman": "PM" + "AK-" + _draw(24, _HEX) + "-" + _draw(34, _HEX),
    "Contentful": "CFP" + "AT-" + _draw(43),
    "AWS key id": "AK" + "IA" + _draw(16, _UPPER),
    "AWS session": "AS" + "IA" + _draw(16, _UPPER),
    "Google": "AI" + "za" + _draw(35),
    "Google OAuth secret": "GOC" + "SPX-" + _draw(28),
    "Google OAuth token": "ya2" + "9." + _draw(120),
    "Google refresh token": "1/" + "/0" + _draw(80),
    "Azure AD secret": "abC" + "8Q~" + _draw(34),
    "Alibaba": "LT" + "AI" + _draw(20),
    "Databricks": "da" + "pi" + _draw(32, _HEX),
    "DigitalOcean": "do" + "p_v1_" + _draw(64, _HEX),
    "Shopify": "shp" + "at_" + _draw(32, _HEX),
    "Stripe": "sk" + "_live_" + _draw(24),
    "Stripe webhook": "wh" + "sec_" + _draw(32),
    "Square": "sq0" + "atp-" + _draw(22),
    "Sentry": "sntr" + "ys_" + _draw(80),
    "Grafana": "gl" + "sa_" + _draw(32) + "_" + _draw(8, _HEX),
    "New Relic": "NR" + "AK-" + _draw(27, _UPPER),
    "Doppler": "dp" + ".pt." + _draw(43),
    "Vault": "hv" + "s." + _draw(90),
    "Terraform": _draw(14) + ".atlas" + "v1." + _draw(67),
    "PlanetScale": "pscale" + "_tkn_" + _draw(43),
    "Pulumi": "pu" + "l-" + _draw(40, _HEX),
    "Tailscale": "ts" + "key-auth-" + _draw(12) + "-" + _draw(32),
    "Heroku": "HRKU" + "-AA" + _draw(58),
    "Supabase": "sb" + "p_" + _draw(40, _HEX),
    "Supabase secret": "sb" + "_secret_" + _draw(22) + "_" + _draw(8),
    "Vercel Blob": "vercel" + "_blob_rw_" + _draw(16) + "_" + _draw(30),
    "Together": "tg" + "p_v1_" + _draw(43),
    "Browserbase": "bb" + "_live_" + _draw(27),
    "Jina": "ji" + "na_" + _draw(60),
    "E2B": "e2" + "b_" + _draw(40, _HEX),
    "PostHog": "ph" + "x_" + _draw(43),
    "Neon": "na" + "pi_" + _draw(64, _LOWER),
    "Azure AI": _draw(52) + "JQQJ" + "99BC" + _draw(24),
    "wallet": "xpr" + "v9s2" + _draw(103, "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"),
    "PASETO": "v2." + "local." + _draw(80),
    "age": "AGE-SEC" + "RET-KEY-1" + _draw(58, _UPPER),
    "JSON Web Token": "ey" + "J" + _draw(33) + ".ey" + "J" + _draw(40) + "." + _draw(43),
    "e-mail": "jane.doe@" + "corp-mail.com",
    "e-mail, not ASCII": "jörg.müller@" + "größe-häuser.de",
    "organization": "org" + "-" + _draw(24),
}
"""What can be told by its form, wherever it stands."""

SECRETS_IN_TEXT: dict[str, tuple[str, str]] = {
    "api-key": ("api-key: {}", _draw(32, _HEX)),
    "x-api-key": ("x-api-key: {}", _draw(40)),
    "Ocp-Apim-Subscription-Key": ("Ocp-Apim-Subscription-Key: {}", _draw(32, _HEX)),
    "client_secret": ("client_id=app&client_secret={}&grant_type=password", "abC" + "9Q~" + _draw(34)),
    "Cookie": ("Cookie: theme=on; session={}; lang=en", _draw(26)),
    "Set-Cookie": ("Set-Cookie: sid={}; Path=/; HttpOnly", _draw(26)),
    "Authorization: Basic": ("Authorization: Basic {}", "dXNlcjpw" + _draw(12)),
    "Authorization: token": ("Authorization: token {}", _draw(40, _HEX)),
    "Authorization: Bearer": ("Authorization: Bearer {}", _draw(40)),
    "Proxy-Authorization": ("Proxy-Authorization: Basic {}", "dXNlcjpw" + _draw(12)),
    "curl": ("curl -sS -u jane:{} https://api.test/v1", "hunter2-" + _draw(8)),
    "environment": ("export OPENAI_API_KEY={}", _draw(40)),
    "environment, password": ("DB_PASSWORD={}", "Tr0ub4dor&3" + _draw(4)),
    "YAML": ("database:\n  password: {}\n  port: 5432", "s3cret" + _draw(8)),
    "TOML": ('secret_key = "{}"', _draw(30)),
    "Python": ("client = Client(api_key='{}')", _draw(32)),
    "TypeScript": ('const options = {{ accessToken: "{}" }};', _draw(32)),
    "Python dict": ("{{'clientSecret': '{}', 'retries': 3}}", _draw(32)),
    "XML": ("<password>{}</password>", "hunter2" + _draw(6)),
    "connection string": ("AccountName=store;AccountKey={}==;EndpointSuffix=core", _draw(86)),
    "URL": ("postgresql://app:{}@db.test:5432/main", "hunter2" + _draw(6)),
    "query": ("https://api.test/v1?sig={}&a=1", _draw(43)),
    "AWS secret": ("aws_secret_access_key = {}", _draw(40)),
    "PEM": (_begin("RSA PRIVATE KEY") + "\n{}\n-----END RSA " + "PRIVATE KEY-----", _lines(3)),
    "PEM without END": ("the file:\n" + _begin("PRIVATE KEY") + "\n{}", _lines(3)),
    "OpenSSH without END": (_begin("OPENSSH PRIVATE KEY") + "\n{}\n", _lines(3, 70)),
    "PGP": (_begin("PGP PRIVATE KEY BLOCK") + "\n\n{}\n-----END PGP " + "PRIVATE KEY BLOCK-----", _lines(3)),
    "PGP without END": (_begin("PGP PRIVATE KEY BLOCK") + "\nVersion: GnuPG v2\n\n{}", _lines(3)),
    "Slack webhook": ("https://hooks.slack.com/services/{}", f"T{_draw(8, _UPPER)}/B{_draw(9, _UPPER)}/{_draw(24)}"),
    "Slack workflow": (
        "https://hooks.slack.com/workflows/{}",
        f"T{_draw(8, _UPPER)}/A{_draw(9, _UPPER)}/{_draw(18, string.digits)}/{_draw(24)}",
    ),
    "Discord webhook": ("https://discord.com/api/webhooks/{}", _draw(18, string.digits) + "/" + _draw(68)),
    "Azure subscription": ("/subscriptions/{}/resourceGroups/rg", "7f9c24e8-3b12-4fef-91e0-55a1c0ffee00"),
}
"""What can be told by the text around it, with `{}` for the secret."""

_BESIDE_A_NAME = {
    kind: (text.replace("{", "{{").replace("}", "}}").replace("¤", "{}"), _draw(32, _HEX))
    for kind, text in BESIDE_A_NAME.items()
}
KINDS: dict[str, tuple[str, str]] = (
    {name: ("it is {} .", token) for name, token in TOKENS.items()} | SECRETS_IN_TEXT | _BESIDE_A_NAME
)
"""All kinds: the text around a secret, and the secret."""
KEYS = {
    kind: KINDS[kind]
    for kind in KINDS
    if kind not in ("e-mail", "e-mail, not ASCII", "organization", "Azure subscription")
}
"""Those that are keys, tokens and passwords."""

NAMES = (
    *("accessToken", "access_token", "access-token", "AccessToken", "ACCESS_TOKEN", "refreshToken"),
    *("refresh_token", "idToken", "sessionToken", "SessionToken", "aws_session_token", "authToken"),
    *("auth_token", "bearerToken", "token", "Token", "userToken", "botToken", "BOT_TOKEN", "slackToken"),
    *("GITHUB_TOKEN", "GITLAB_TOKEN", "NPM_TOKEN", "csrf_token", "clientSecret", "client_secret"),
    *("CLIENT_SECRET", "secret", "Secret", "appSecret", "sharedSecret", "signing_secret", "webhookSecret"),
    *("JWT_SECRET", "secretKey", "SECRET_KEY", "secretAccessKey", "SecretAccessKey", "AWS_SECRET_ACCESS_KEY"),
    *("privateKey", "private_key", "PRIVATE_KEY", "apiKey", "api_key", "api-key", "ApiKey", "APIKey", "apikey"),
    *("x-api-key", "X-API-Key", "OPENAI_API_KEY", "AZURE_OPENAI_API_KEY", "openaiApiKey", "subscription-key"),
    *("subscriptionKey", "Ocp-Apim-Subscription-Key", "accountKey", "AccountKey", "storage_account_key"),
    *("encryptionKey", "encryption_key", "masterKey", "MASTER_KEY", "password", "Password", "PASSWORD"),
    *("DB_PASSWORD", "dbPassword", "passwd", "pwd", "userPwd", "passphrase", "authorization", "Authorization"),
    *("Proxy-Authorization", "cookie", "Cookie", "Set-Cookie", "setCookie", "credential", "credentials"),
    *("connectionString", "POSTGRES_PASSWORD", "smtp_pass", "SIGNING_KEY", "serviceKey"),
)
"""Names of members whose value is a secret, in the styles of several languages."""
VALUE_OF_NAME = _draw(32, _LOWER)
