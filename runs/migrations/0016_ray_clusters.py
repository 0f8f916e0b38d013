from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('runs', '0015_services'),
    ]

    operations = [
        migrations.AlterField(
            model_name='cluster',
            name='kind',
            field=models.CharField(choices=[('local', 'This machine'), ('slurm', 'Slurm'), ('ray', 'Ray')], max_length=20),
        ),
    ]
