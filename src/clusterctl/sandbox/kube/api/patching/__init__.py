"""How an object changes: JSON merge patch, strategic merge patch, server-side apply and its field managers."""
