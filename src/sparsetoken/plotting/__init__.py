"""Pictures from tables; nothing is computed here."""
