"""The router of the API. There is only one, because operations that share an address must share it."""

from ninja import Router

router = Router()
