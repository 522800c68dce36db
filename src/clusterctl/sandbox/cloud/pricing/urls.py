"""Where the service answers; the handler is put in by the extension."""

from typing import Any

# It signs as `pricing` and lives at `api.pricing.`.
url_bases = [r"https?://(?:api\.)?pricing\.(.+)\.amazonaws\.com"]
url_paths: dict[str, Any] = {}
