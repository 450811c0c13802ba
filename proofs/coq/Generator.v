(* What a block cipher costs instead of uniform draws, as far as counting goes. Chapter: randomness.

   First the switching lemma: a random permutation, asked at different points, answers almost like
   independent uniform draws. A reader asks for blocks one after the other; which block it asks for
   next, and whether it asks at all, depends on the answers so far. Then the sampler on a stream
   that is finite. *)
From mathcomp Require Import all_ssreflect all_algebra all_fingroup.
From SLIP Require Import Arithmetic Probability Randomness.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.
Arguments chance : simpl never.

Section Switching.
Variables (B : finType) (A : Type).

(* Ask x next: read the block at the point x, go on with next of it. *)
Inductive reader : Type :=
  | Done of A
  | Ask (x : B) (next : B -> reader).

(* What it ends with when the blocks are the values of s. *)
Fixpoint read (s : {perm B}) (c : reader) : A :=
  match c with
  | Done a => a
  | Ask x next => read s (next (s x))
  end.

(* The same with a fresh uniform block for each question. *)
Fixpoint read_uniform (c : reader) : random A :=
  match c with
  | Done a => Known a
  | Ask x next => Draw (fun y : B => read_uniform (next y))
  end.

(* It asks for at most n blocks, none of them twice and none of those in asked. *)
Fixpoint fresh (n : nat) (asked : seq B) (c : reader) : Prop :=
  match c with
  | Done _ => True
  | Ask x next =>
      if n is n'.+1 then x \notin asked /\ forall y, fresh n' (x :: asked) (next y) else False
  end.

(* The permutations with the values ys at the points xs. *)
Definition agree (xs ys : seq B) : pred {perm B} := fun s => [seq s x | x <- xs] == ys.

(* Those that take a value and those that take another are equally many. *)
Lemma agree_swap xs ys x y y' : y \notin ys -> y' \notin ys ->
  #|agree (x :: xs) (y :: ys)| = #|agree (x :: xs) (y' :: ys)|.
Proof.
move=> y_new y'_new.
have maps z z' (s : {perm B}) : z \notin ys -> z' \notin ys -> agree (x :: xs) (z :: ys) s ->
    agree (x :: xs) (z' :: ys) (s * tperm z z')%g.
  move=> z_new z'_new; rewrite /agree /= !eqseq_cons => /andP[/eqP sx /eqP sxs].
  rewrite permM sx tpermL eqxx -sxs; apply/eqP/eq_in_map => u u_in.
  rewrite permM tpermD //; apply/eqP => z_su.
  - by move: z_new; rewrite z_su -sxs map_f.
  - by move: z'_new; rewrite z_su -sxs map_f.
have inj z z' : injective (fun s : {perm B} => (s * tperm z z')%g) by move=> s s' /mulIg.
apply/eqP; rewrite eqn_leq; apply/andP; split.
  rewrite -(card_imset _ (inj y y')); apply/subset_leq_card/subsetP => _ /imsetP[s s_in ->].
  exact: maps.
rewrite -(card_imset _ (inj y' y)); apply/subset_leq_card/subsetP => _ /imsetP[s s_in ->].
exact: maps.
Qed.

Lemma agree_used x xs ys y : size xs = size ys -> x \notin xs -> y \in ys ->
  #|agree (x :: xs) (y :: ys)| = 0%N.
Proof.
move=> sizes x_new y_in; apply: eq_card0 => s; apply/negbTE; rewrite -topredE /= /agree /=.
rewrite eqseq_cons; apply/negP => /andP[/eqP sx /eqP sxs].
move: y_in; rewrite -sx -sxs mem_map; [exact/negP|exact: perm_inj].
Qed.

(* A sum over all permutations that agree, by the value at one more point. *)
Lemma agree_split x xs ys (f : {perm B} -> rat) :
  \sum_(s | agree xs ys s) f s = \sum_(y : B) \sum_(s | agree (x :: xs) (y :: ys) s) f s.
Proof.
rewrite (partition_big (fun s : {perm B} => s x) xpredT) //=; apply: eq_bigr => y _.
by apply: eq_bigl => s; rewrite /agree /= eqseq_cons andbC.
Qed.

(* Among the permutations that agree: how often the reader ends in E. *)
Definition given (E : A -> bool) xs ys (c : reader) : rat :=
  (\sum_(s | agree xs ys s) (E (read s c))%:R) / #|agree xs ys|%:R.

Lemma unused_close (K d U V : rat) : 0 < K -> 0 <= d -> 0 <= U <= K -> 0 <= V <= d ->
  `|U / K - (U + V) / (K + d)| <= d / (K + d).
Proof.
move=> K_gt0 d_ge0 /andP[U_ge0 U_le] /andP[V_ge0 V_le].
have K_neq0 : K != 0 by rewrite gt_eqF.
have Kd_gt0 : 0 < K + d by rewrite ltr_paddr.
have Kd_neq0 : K + d != 0 by rewrite gt_eqF.
have -> : U / K - (U + V) / (K + d) = (U / K * d - V) / (K + d).
  rewrite -[X in X - _](mulfK Kd_neq0) -mulrBl; congr (_ / _).
  by rewrite mulrDr divfK // opprD addrACA subrr add0r.
rewrite normrM (ger0_norm (x := (K + d)^-1)) ?invr_ge0 ?(ltW Kd_gt0) //.
rewrite ler_wpmul2r ?invr_ge0 ?(ltW Kd_gt0) // ler_norml.
have Ud_le : U / K * d <= d by rewrite ler_pimull // ler_pdivr_mulr // mul1r.
have Ud_ge0 : 0 <= U / K * d by rewrite !mulr_ge0 ?invr_ge0 ?(ltW K_gt0).
apply/andP; split; last by rewrite ler_subl_addr (le_trans Ud_le) // ler_addl.
by rewrite ler_subr_addl (le_trans _ Ud_ge0) // subr_le0.
Qed.

(* The share of the permutations, averaged over the values that are left. *)
Lemma given_ask E xs ys x next : (0 < #|agree xs ys|)%N -> size xs = size ys -> uniq ys ->
  x \notin xs ->
  let K := (#|B| - size xs)%N%:R in
  [/\ 0 < K :> rat,
      forall y, y \notin ys -> (0 < #|agree (x :: xs) (y :: ys)|)%N
    & given E xs ys (Ask x next)
        = (\sum_(y | y \notin ys) given E (x :: xs) (y :: ys) (next y)) / K].
Proof.
move=> some sizes uniq_ys x_new K.
have count : #|agree xs ys| = (\sum_(y | y \notin ys) #|agree (x :: xs) (y :: ys)|)%N.
  have part y : (\sum_(s in agree xs ys | s x == y) 1)%N = #|agree (x :: xs) (y :: ys)|.
    rewrite -sum1_card; apply: eq_bigl => s.
    by rewrite !unfold_in /agree /= eqseq_cons andbC.
  rewrite -sum1_card (partition_big (fun s : {perm B} => s x) xpredT) //=.
  rewrite (bigID (mem ys)) /= [X in (X + _)%N]big1 ?add0n => [|y y_in].
    by apply: eq_bigr => y _; apply: part.
  by rewrite part agree_used.
have [y0 y0_new|none] := pickP (fun y => y \notin ys); last first.
  by move: some; rewrite count big_pred0.
pose m := #|agree (x :: xs) (y0 :: ys)|.
have same y : y \notin ys -> #|agree (x :: xs) (y :: ys)| = m.
  by move=> y_new; apply: agree_swap.
have left : #|[pred y | y \notin ys]| = (#|B| - size xs)%N.
  have := cardC (mem ys); rewrite (card_uniqP uniq_ys) -sizes => <-; rewrite addKn.
  by apply: eq_card => y; rewrite !inE.
have total : #|agree xs ys| = ((#|B| - size xs) * m)%N.
  by rewrite count (eq_bigr (fun _ => m)) // sum_nat_cond_const -left; congr (_ * _)%N;
    apply: eq_card => y; rewrite !inE.
have [K_gt0 m_gt0] : (0 < #|B| - size xs)%N /\ (0 < m)%N.
  by apply/andP; rewrite -muln_gt0 -total.
split=> [|y y_new|]; first (by rewrite ltr0n); first by rewrite (same y y_new).
rewrite /given (agree_split x) (bigID (mem ys)) /= [X in X + _]big1 ?add0r => [|y y_in]; last first.
  by apply: big_pred0 => s; apply: (card0_eq (agree_used sizes x_new y_in)).
rewrite total natrM -/K invfM [K^-1 * _]mulrC mulrA; congr (_ * _).
rewrite mulr_suml; apply: eq_bigr => y y_new; rewrite (same y y_new); congr (_ / _).
by apply: eq_bigr => s; rewrite /agree /= eqseq_cons => /andP[/eqP -> _].
Qed.

(* The first question moves the law by d / |B|, d the number of values that are used up. *)
Lemma given_close E n xs ys c : (0 < #|agree xs ys|)%N -> size xs = size ys -> uniq ys ->
  fresh n xs c ->
  `|given E xs ys c - chance E (read_uniform c)|
    <= (\sum_(size xs <= i < size xs + n) i)%N%:R / #|B|%:R.
Proof.
elim: c n xs ys => [a|x next IH] n xs ys some sizes uniq_ys.
  move=> _; rewrite /given /= sumr_const -[X in X / _]mulr_natr mulfK; last first.
    by rewrite pnatr_eq0 -lt0n.
  by rewrite /chance subrr normr0 divr_ge0 ?ler0n.
case: n => [//|n] /= [x_new next_fresh].
have [K_gt0 some' ->] := given_ask E next some sizes uniq_ys x_new.
set K : rat := (#|B| - size xs)%N%:R in K_gt0 *; set d : rat := (size xs)%:R.
have B_eq : #|B|%:R = K + d :> rat.
  rewrite -natrD subnK // sizes -(card_uniqP uniq_ys); exact: max_card.
pose u y := chance E (read_uniform (next y)).
have u_ge0 y : 0 <= u y by apply: chance_ge0.
have u_le1 y : u y <= 1 by apply: chance_le1.
have left : (\sum_(y | y \notin ys) 1 = K :> rat).
  rewrite sumr_const -[LHS]mulr_natl mulr1 /K sizes; congr _%:R.
  have := cardC (mem ys); rewrite (card_uniqP uniq_ys) => <-; rewrite addKn.
  by apply: eq_card => y; rewrite !inE.
have used : (\sum_(y | y \in ys) 1 = d :> rat).
  by rewrite sumr_const -[LHS]mulr_natl mulr1 /d sizes -(card_uniqP uniq_ys).
have -> : chance E (Draw (fun y : B => read_uniform (next y)))
    = (\sum_(y | y \notin ys) u y + \sum_(y | y \in ys) u y) / (K + d).
  rewrite chance_draw -B_eq /uniform -mulr_sumr mulrC addrC; congr (_ / _).
  by rewrite (bigID (mem ys)).
rewrite big_ltn ?addnS ?ltnS ?leq_addr // natrD mulrDl -/d.
apply: le_trans (ler_dist_add ((\sum_(y | y \notin ys) u y) / K) _ _) _.
rewrite addrC; apply: ler_add.
  rewrite B_eq.
  apply: unused_close => //; first exact: ler0n.
    by rewrite sumr_ge0 //= -left; apply: ler_sum.
  by rewrite sumr_ge0 //= -used; apply: ler_sum.
rewrite -mulrBl -sumrB normrM (ger0_norm (x := K^-1)) ?invr_ge0 ?(ltW K_gt0) //.
rewrite ler_pdivr_mulr // -left mulr_sumr.
apply: le_trans (ler_norm_sum _ _ _) _; apply: ler_sum => y y_new; rewrite mulr1.
have close := IH y n (x :: xs) (y :: ys) (some' y y_new) (congr1 S sizes) _ (next_fresh y).
by rewrite /= y_new uniq_ys addSn in close; apply: close.
Qed.

(* A reader of at most n blocks, at different points, that may stop and choose as it likes. *)
Theorem switching (E : A -> bool) n c : fresh n [::] c ->
  `|Pr (@uniform [finType of {perm B}]) (fun s => E (read s c)) - chance E (read_uniform c)|
    <= (n * n.-1)%N%:R / (2 * #|B|)%N%:R.
Proof.
move=> is_fresh.
have all_agree : #|agree [::] [::]| = #|[finType of {perm B}]| by apply: eq_card => s.
have some : (0 < #|agree [::] [::]|)%N by rewrite all_agree; apply/card_gt0P; exists 1%g.
have := given_close E some erefl erefl is_fresh; rewrite add0n triangular_sum.
have -> : given E [::] [::] c = Pr (@uniform [finType of {perm B}]) (fun s => E (read s c)).
  rewrite /given /Pr /uniform all_agree mulr_suml [RHS]big_mkcond; apply: eq_big => s //= _.
  by case: (E _); rewrite ?mul1r ?mul0r.
suff -> : (n * n.-1)%N%:R / (2 * #|B|)%N%:R = 'C(n, 2)%:R / #|B|%:R :> rat by [].
have <- : ('C(n, 2) * 2)%N = (n * n.-1)%N by have := bin_ffact n 2; rewrite ffactnS ffactn1.
by rewrite [('C(n, 2) * 2)%N]mulnC !natrM -mulf_div mulfV ?mul1r // pnatr_eq0.
Qed.
End Switching.

(* ------------------------------------------------------------------------------ finite streams *)
Section Stream.
Variables (w e L : nat).
Hypotheses (e_le_w : (e <= w)%N) (L_gt0 : (0 < L)%N) (L_le : (L <= 2 ^ e)%N).
Variables (T c : nat) (E : seq nat -> bool).
Notation words := [finType of T.-tuple 'I_(2 ^ w)].
Notation residues := [finType of c.-tuple 'I_L].
Notation outputs s := (sampler e L (numbers s)).

(* The stream ends before it has given c outputs. *)
Definition exhausted (s : T.-tuple 'I_(2 ^ w)) : bool := (size (outputs s) < c)%N.

(* A stream that gives c outputs has exactly one tuple of residues. *)
Lemma one_tuple (s : T.-tuple 'I_(2 ^ w)) :
  (\sum_(u : residues | E (map val u)) (take c (outputs s) == map val u))%N
    = (~~ exhausted s && E (take c (outputs s)))%N.
Proof.
rewrite /exhausted -leqNgt; case: (leqP c (size (outputs s))) => [long|short] /=; last first.
  apply: big1 => u _; case: eqP => // same; move: (short).
  have := congr1 size same; rewrite size_map size_tuple size_take ltnNge (ltnW short) /= => ->.
  by rewrite ltnn.
pose u_seq := pmap (insub : nat -> option 'I_L) (take c (outputs s)).
have small : all (fun a => a < L)%N (take c (outputs s)).
  by apply/allP => a /mem_take; rewrite mem_filter => /andP[].
have vals : map val u_seq = take c (outputs s).
  rewrite (pmap_filter (insubK _)) (eq_in_filter (a2 := xpredT)) ?filter_predT // => a a_in.
  by rewrite isSome_insub (allP small).
have size_u : size u_seq == c by rewrite -(size_map val) vals size_takel.
rewrite (big_mkcond (fun u : residues => E (map val u))) /= (bigD1 (Tuple size_u)) //= vals eqxx.
rewrite big1 ?addn0 => [|u u_neq]; first by case: (E _).
case: ifP => // _; case: eqP => // same; case/negP: u_neq; apply/eqP/val_inj.
by apply: (inj_map val_inj); rewrite -same -vals.
Qed.

(* Up to the probability that the stream is exhausted, its first c outputs are uniform. *)
Theorem finite_stream :
  `|Pr (@uniform words) (fun s => E (take c (outputs s)))
    - Pr (@uniform residues) (fun u => E (map val u))|
    <= Pr (@uniform words) exhausted.
Proof.
have W_gt0 : (0 < #|words|)%N by rewrite card_tuple card_ord !expn_gt0.
have R_gt0 : (0 < #|residues|)%N by rewrite card_tuple card_ord expn_gt0 L_gt0.
set p := Pr (@uniform residues) _; set x := Pr _ exhausted.
have [u_ge0 u_sum] := uniform_distribution R_gt0.
have [w_ge0 w_sum] := uniform_distribution W_gt0.
have p01 : 0 <= p <= 1.
  by rewrite -u_sum sumr_ge0 //= /p /Pr [X in X <= _]big_mkcond; apply: ler_sum => u _; case: ifP.
have ok : Pr (@uniform words) (fun s => ~~ exhausted s) = 1 - x.
  by rewrite -w_sum /x /Pr [in RHS](bigID exhausted) /= addrAC subrr add0r.
have good : Pr (@uniform words) (fun s => ~~ exhausted s && E (take c (outputs s))) = p * (1 - x).
  have count : (#|fun s : words => ~~ exhausted s && E (take c (outputs s))| * #|residues|
      = #|fun u : residues => E (map val u)| * #|fun s : words => ~~ exhausted s|)%N.
    rewrite -[in LHS]sum1_card big_mkcond /=.
    rewrite (eq_bigr (fun s => \sum_(u : residues | E (map val u))
      (take c (outputs s) == map val u))%N) => [|s _]; last first.
      by rewrite one_tuple unfold_in; case: (_ && _).
    rewrite exchange_big /= big_distrl /= -sum_nat_const; apply: eq_bigr => u _.
    have small : all (fun a => a < L)%N (map val u) by apply/allP => _ /mapP[a _ ->] /=.
    have := card_prefix e_le_w L_le T small; rewrite size_map size_tuple => prefix.
    rewrite card_tuple card_ord (_ : (\sum_i _)%N = #|[set s : words | take c (outputs s) ==
      map val u]|); last by rewrite -sum1dep_card [RHS]big_mkcond.
    by rewrite prefix cardsE; apply: eq_card => s; rewrite !unfold_in -leqNgt.
  have nat_neq0 n : (0 < n)%N -> n%:R != 0 :> rat by rewrite pnatr_eq0 lt0n.
  rewrite -ok /p !Pr_uniform mulf_div -natrM -count [in RHS]natrM.
  by rewrite [_ * #|residues|%:R]mulrC -mulf_div mulfV ?mul1r ?nat_neq0.
have -> : Pr (@uniform words) (fun s => E (take c (outputs s)))
    = Pr (@uniform words) (fun s => exhausted s && E (take c (outputs s))) + p * (1 - x).
  rewrite -good /Pr (bigID exhausted) /=; congr (_ + _); apply: eq_bigl => s; exact: andbC.
set y := Pr _ (fun s => exhausted s && _).
have y01 : 0 <= y <= x.
  rewrite /y /x /Pr sumr_ge0 //= [X in X <= _]big_mkcond [X in _ <= X]big_mkcond /=.
  by apply: ler_sum => s _; case: (exhausted s); case: (E _).
have -> : y + p * (1 - x) - p = y - p * x by rewrite mulrBr mulr1 addrA addrAC addrK.
have /andP[y_ge0 y_le] := y01; have /andP[p_ge0 p_le] := p01.
have x_ge0 : 0 <= x := le_trans y_ge0 y_le.
rewrite ler_norml; apply/andP; split; last first.
  by rewrite ler_subl_addr (le_trans y_le) // ler_addl mulr_ge0.
by rewrite ler_subr_addl (le_trans _ y_ge0) // subr_le0 ler_pimull.
Qed.
End Stream.
