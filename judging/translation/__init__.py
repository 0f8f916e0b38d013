"""Translation of sentences that boards store in English: `messages` translates them, `marked` lists them."""
