"""The one router: operations that share an address must share it."""

from ninja import Router

router = Router()
