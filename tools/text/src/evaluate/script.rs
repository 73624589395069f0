//! What is written differently in other places: simplified and traditional characters, numbers,
//! dates.

/// Frequent characters whose simplified form stands for one traditional form, in pairs.
const PAIRS: &str = "这這们們个個来來说說时時国國会會对對过過学學没沒还還发發经經关關问問间間开開长長见見现現样樣进進动動从從两兩实實业業当當机機\
    书書电電东東车車马馬鸟鳥鱼魚门門网網络絡计計认認识識话話语語请請让讓设設论論证證评評读讀写寫义義务務专專产產亲親备備处處复復够夠头頭夹夾夺奪\
    奋奮奖獎妇婦妈媽孙孫宁寧宝寶审審宾賓导導尔爾尘塵尝嘗层層属屬岁歲岛島币幣师師带帶帮幫广廣庄莊庆慶库庫应應庙廟废廢异異张張强強归歸录錄忆憶志誌怀懷\
    态態总總恶惡悬懸惊驚惧懼惯慣愿願懒懶戏戲战戰户戶执執扩擴扫掃扬揚扰擾抚撫护護报報担擔拟擬拥擁择擇挂掛挥揮损損换換据據掷擲摆擺摇搖撑撐数數敌敵断斷旧舊\
    显顯晓曉暂暫术術权權条條极極构構枪槍标標树樹桥橋检檢楼樓欢歡欧歐残殘毁毀毕畢气氣汇匯汉漢汤湯沟溝泪淚泽澤洁潔浅淺测測济濟浓濃涛濤润潤涨漲渐漸温溫湾灣\
    湿濕满滿滚滾滤濾灭滅灯燈灵靈灾災炉爐点點炼煉热熱爱愛牵牽状狀犹猶独獨狭狹环環画畫疗療疯瘋监監盖蓋盘盤确確码碼础礎礼禮离離种種积積称稱稳穩穷窮竞競笔筆\
    笼籠筑築简簡类類粮糧紧緊级級纪紀约約纯純线線练練组組细細终終绍紹结結给給绝絕统統继繼绩績绪緒续續维維综綜绿綠缓緩编編缘緣缩縮罗羅罚罰职職联聯肃肅肠腸\
    胜勝脏臟脑腦脸臉舰艦舱艙艰艱艺藝节節苏蘇范範药藥荣榮获獲虑慮虽雖蓝藍补補装裝观觀规規视視览覽觉覺触觸订訂记記训訓议議讯訊许許诉訴词詞译譯试試诗詩详詳误誤\
    课課调調谁誰谈談谢謝谱譜负負贡貢财財责責败敗货貨质質购購贯貫贴貼贵貴费費资資赏賞赖賴赛賽赵趙轨軌转轉轮輪软軟轻輕载載较較辆輛输輸边邊达達迁遷运運违違连連迟遲\
    选選递遞逻邏遗遺邮郵释釋钟鐘钢鋼钱錢铁鐵银銀链鏈锁鎖错錯键鍵镇鎮闭閉闲閒闻聞阅閱队隊阳陽阴陰阵陣阶階际際陆陸险險随隨隐隱难難静靜页頁项項顺順须須预預领領题題\
    颜顏额額风風飞飛饭飯馆館驱驅验驗骤驟麦麥齐齊龙龍进進内內参參变變号號吗嗎听聽启啟员員响響团團园園围圍图圖圆圓场場块塊坚堅坏壞坛壇声聲壳殼单單卖賣压壓";

/// Number words of English.
pub(super) const ENGLISH_NUMBERS: &[&str] = &[
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
    "eleven", "twelve",
];

/// Number words of Chinese.
pub(super) const CHINESE_NUMBERS: &[&str] =
    &["零", "一", "二", "三", "四", "五", "六", "七", "八", "九", "十", "十一", "十二"];

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// Whether a text is Chinese rather than English: a tenth of its characters are ideographs.
pub(super) fn is_chinese(text: &str) -> bool {
    let ideographs = text.chars().filter(|one| ('\u{3400}'..='\u{9fff}').contains(one)).count();
    10 * ideographs > text.chars().count()
}

/// The text in traditional characters.
pub(super) fn traditional(text: &str) -> String {
    replaced(text, |(simplified, traditional)| (simplified, traditional))
}

/// The text in simplified characters.
pub(super) fn simplified(text: &str) -> String {
    replaced(text, |(simplified, traditional)| (traditional, simplified))
}

fn replaced(text: &str, pair: impl Fn((char, char)) -> (char, char)) -> String {
    let characters: Vec<char> = PAIRS.chars().collect();
    let (pairs, _) = characters.as_chunks::<2>();
    let map: std::collections::HashMap<char, char> =
        pairs.iter().map(|[simplified, traditional]| pair((*simplified, *traditional))).collect();
    text.chars().map(|one| map.get(&one).copied().unwrap_or(one)).collect()
}

/// The text with its dates of the form `2024-05-01` in words.
pub(super) fn dates(text: &str) -> String {
    let chinese = is_chinese(text);
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(|one: char| one.is_ascii_digit()) {
        let (before, number) = rest.split_at(at);
        out.push_str(before);
        let len = number.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b'-').count();
        let (number, after) = number.split_at(len);
        match date(number) {
            Some((year, month, day)) if chinese => {
                out.push_str(&format!("{year}年{month}月{day}日"))
            }
            Some((year, month, day)) => {
                out.push_str(&format!("{day} {} {year}", MONTHS[month - 1]))
            }
            None => out.push_str(number),
        }
        rest = after;
    }
    out.push_str(rest);
    out
}

fn date(text: &str) -> Option<(&str, usize, usize)> {
    let mut parts = text.split('-');
    let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
    let right = year.len() == 4 && month.len() == 2 && day.len() == 2 && parts.next().is_none();
    let (month, day) = (month.parse().ok()?, day.parse().ok()?);
    (right && (1..=12).contains(&month) && (1..=31).contains(&day)).then_some((year, month, day))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_pairs() {
        let characters: Vec<char> = PAIRS.chars().collect();
        assert!(
            characters.len().is_multiple_of(2)
                && characters.iter().all(|one| ('\u{3400}'..='\u{9fff}').contains(one))
        );
        assert!(characters.chunks(2).all(|pair| pair[0] != pair[1]));
    }

    #[test]
    fn other_numbers_are_no_dates() {
        for text in [
            "2024-5-1",
            "2024-13-01",
            "2024-05-00",
            "1-2-3",
            "2024-05-01-02",
            "-",
            "20240501",
            "3.5",
        ] {
            assert_eq!(dates(text), text);
        }
    }
}
