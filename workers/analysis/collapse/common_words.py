"""The commonest words of sixteen languages in Latin letters, case folded: articles, pronouns, prepositions, and such.

Danish, Norwegian and Swedish share too many words to be distinguished, and count as one.
"""

from __future__ import annotations

COMMON = {
    "en": """
        the of and to in is that it for on with as are this be by not you or from at an have has was were
        which will can your their they but we if would should he she his her its i my do does what there been
        more about
    """,
    "de": """
        der die das und ist nicht ein eine zu den von mit sich des auf für im dem auch es an als nach wie bei
        aus oder wenn werden wird sie ich kann sind einen einer wir ihr hat noch nur so über um durch dass
    """,
    "fr": """
        le la les des et est une du que qui dans pour pas sur au aux avec ne ce cette sont vous nous il elle
        ils ou par plus se son sa ses être un votre mais leur je peut comme ces
    """,
    "es": """
        el la los las de que y en un una es no por con para su se lo como más al del está son pero sus le ha
        esta este si ya o muy puede también entre ser usted hay
    """,
    "it": """
        il lo la gli le di che è e un una non per in con del della sono si da dei nel alla più come questo
        questa ma ha anche al dal delle essere o se può suo sua
    """,
    "pt": """
        o a os as de que e em um uma é não por com para se do da dos das no na nos mais como ao seu sua foi ou
        está são mas você pode isso este esta também pelo pela ser
    """,
    "nl": """
        de het een en van is in dat op te niet voor met zijn die aan er om ook als dan maar bij of uit kan
        deze dit wordt naar heeft worden u je ik hij zij door over nog kunnen moet geen
    """,
    "nordic": """
        og och det er är en et ett på av til till som for för med den har ikke inte ikkje i at att å de kan
        fra från eller om var vi jeg jag du vil vill men kun bli blir skal ska denne dette detta mot
    """,
    "pl": """
        i w nie na się z do to że jest jak o ale po co tak za od czy dla przez lub może być są oraz ten tego
        te go który które jego jej ich ma był tylko
    """,
    "cs": """
        a v se na je že s z do to i o k nebo pro jako ale by za od jsou po pokud být jeho který která které
        není tento této může však ze si jen tak při
    """,
    "fi": """
        ja on ei se että joka oli ovat hän mutta tai kun kuin myös ole niin voi sen tämä jos ne jotka mukaan
        ovatko vain sekä olla kanssa hänen tämän eikä olet sinun
    """,
    "hu": """
        a az és hogy nem egy is van ez ha meg csak de volt mint vagy el kell lehet ezt azt már még minden aki
        ami nincs során után legyen
    """,
    "ro": """
        și de la în a cu nu este o un pe care pentru din să că mai sau fi sunt ca prin au fost acest această
        dar dacă poate lui ale al se
    """,
    "tr": """
        ve bir bu için ile de da olarak çok daha olan gibi ne mi değil var en ama kadar sonra veya her o ise
        ben sen biz olduğu bunu olabilir yok hem ki
    """,
    "id": """
        yang dan di untuk dengan ini itu dari tidak dalam akan pada adalah juga ke oleh saya anda ada atau
        karena bisa dapat lebih tersebut sebagai mereka kita telah sudah harus jika
    """,
    "vi": """
        là và của có không được cho một các trong với này những người để khi đã đó từ về như bạn tôi ra cũng
        nhiều đến phải trên theo nếu hoặc
    """,
}
