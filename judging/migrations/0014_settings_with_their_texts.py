from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import migrations, models


def _alter(model, name, field):
    return migrations.AlterField(model_name=model, name=name, field=field)


class Migration(migrations.Migration):
    """Settings of tournaments and judges state their titles, help and bounds. No column changes."""

    dependencies = [
        ("judging", "0013_soft_preferences"),
    ]

    operations = [
        _alter("tournament", "name", models.CharField(max_length=200, verbose_name="Name")),
        _alter(
            "tournament",
            "question",
            models.TextField(
                blank=True,
                help_text="The question that the tournament answers. Voters do not see it.",
                verbose_name="Question",
            ),
        ),
        _alter(
            "tournament",
            "overlap",
            models.PositiveSmallIntegerField(
                default=1,
                help_text="Two or more show how far voters agree.",
                validators=[MinValueValidator(1), MaxValueValidator(100)],
                verbose_name="Voters per pair",
            ),
        ),
        _alter(
            "tournament",
            "seed",
            models.BigIntegerField(
                default=0,
                help_text="Determines prompts, order and sides.",
                validators=[MinValueValidator(0)],
                verbose_name="Seed",
            ),
        ),
        _alter(
            "tournament",
            "gold_set",
            models.ForeignKey(
                blank=True,
                help_text="Pairs whose better response is known, to check how carefully voters vote.",
                null=True,
                on_delete=models.SET_NULL,
                related_name="tournaments",
                to="judging.goldset",
                verbose_name="Gold set",
            ),
        ),
        _alter(
            "tournament",
            "gold_every",
            models.PositiveSmallIntegerField(
                default=15,
                help_text="15 is about 7 in 100.",
                validators=[MinValueValidator(2), MaxValueValidator(1000)],
                verbose_name="One gold pair in",
            ),
        ),
        _alter(
            "tournament",
            "picks",
            models.CharField(
                choices=[
                    ("balanced", "Balanced: all pairs equally often"),
                    ("telling", "The most informative"),
                ],
                default="balanced",
                help_text="In replays, the most informative gained nothing below 400 votes.",
                max_length=10,
                verbose_name="Next pair",
            ),
        ),
        _alter(
            "tournament",
            "reveals",
            models.BooleanField(default=True, verbose_name="Reveal the contestants to voters after their own vote"),
        ),
        _alter(
            "tournament",
            "warns",
            models.BooleanField(default=False, verbose_name="Blur responses until the voter shows them"),
        ),
        _alter("tournament", "is_private", models.BooleanField(default=False, verbose_name="Only I may see it")),
        _alter("judge", "name", models.CharField(max_length=200, verbose_name="Name")),
        _alter(
            "judge",
            "base_url",
            models.CharField(
                blank=True,
                help_text="Address of any OpenAI-compatible server, such as http://127.0.0.1:8001/v1.",
                max_length=500,
                verbose_name="Address",
            ),
        ),
        _alter(
            "judge",
            "model",
            models.CharField(help_text="The model's name on the server.", max_length=200, verbose_name="Model"),
        ),
        _alter(
            "judge",
            "family",
            models.CharField(
                blank=True,
                help_text="Its base model, to warn if it judges models of its own family.",
                max_length=100,
                verbose_name="Family",
            ),
        ),
        _alter(
            "judge",
            "key",
            models.ForeignKey(
                blank=True,
                null=True,
                on_delete=models.SET_NULL,
                related_name="judges",
                to="judging.judgekey",
                verbose_name="Key",
            ),
        ),
        _alter("judge", "is_private", models.BooleanField(default=False, verbose_name="Only I may see it")),
        _alter(
            "judge",
            "max_tokens",
            models.PositiveIntegerField(
                default=2048, validators=[MinValueValidator(1024)], verbose_name="Tokens per reply"
            ),
        ),
        _alter(
            "judge",
            "limited_by",
            models.CharField(
                choices=[("max_tokens", "max_tokens"), ("max_completion_tokens", "max_completion_tokens")],
                default="max_tokens",
                max_length=30,
                verbose_name="Length is limited by",
            ),
        ),
        _alter(
            "judge",
            "answer_seconds",
            models.PositiveSmallIntegerField(
                default=60, validators=[MinValueValidator(1), MaxValueValidator(120)], verbose_name="Seconds per reply"
            ),
        ),
        _alter(
            "judge",
            "structured",
            models.BooleanField(
                default=True,
                help_text="Untick if the server does not know JSON schemas, or sends empty replies.",
                verbose_name="Send the JSON schema",
            ),
        ),
        _alter(
            "judge",
            "sampling",
            models.JSONField(blank=True, default=dict, help_text="JSON, sent unchanged.", verbose_name="Sampling"),
        ),
        _alter(
            "judge",
            "price_in",
            models.DecimalField(
                decimal_places=6,
                default=0,
                help_text="0 for a server of your own.",
                max_digits=12,
                validators=[MinValueValidator(0)],
                verbose_name="Price of a million input tokens",
            ),
        ),
        _alter(
            "judge",
            "price_out",
            models.DecimalField(
                decimal_places=6,
                default=0,
                max_digits=12,
                validators=[MinValueValidator(0)],
                verbose_name="Price of a million output tokens",
            ),
        ),
        _alter(
            "judge",
            "requests_per_minute",
            models.PositiveIntegerField(default=0, help_text="0: no limit.", verbose_name="Requests per minute"),
        ),
        _alter(
            "judge",
            "tokens_per_minute",
            models.PositiveIntegerField(default=0, help_text="0: no limit.", verbose_name="Tokens per minute"),
        ),
        _alter(
            "judge",
            "at_once",
            models.PositiveSmallIntegerField(
                default=4, validators=[MinValueValidator(1), MaxValueValidator(64)], verbose_name="Concurrent requests"
            ),
        ),
    ]
