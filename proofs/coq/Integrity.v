(* Integrity: Charlie checks every reply against a secret. Chapter: integrity.

   The check over one field is Freivalds' in kappa repetitions: rho^T y = s^T x with s^T = rho^T W_D
   computed ahead. The protocol's check is that, in each of its prime fields, by one secret w for all
   groups and all messages. Probabilities are over the secret, uniform. *)
From mathcomp Require Import all_ssreflect all_algebra.
From SLIP Require Import Arithmetic Probability Ring Masking Planes.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

(* s^T = rho^T W_D, one row per repetition. *)
Definition companion (R : comRingType) (m n kappa : nat) (rho : 'M[R]_(m, kappa))
    (W : 'M[R]_(m, n)) : 'M[R]_(kappa, n) := rho^T *m W.

(* One verdict per message: all repetitions, all columns. *)
Definition accepts (R : comRingType) (m n b kappa : nat) (rho : 'M[R]_(m, kappa))
    (s : 'M[R]_(kappa, n)) (x : 'M[R]_(n, b)) (y : 'M[R]_(m, b)) : bool :=
  rho^T *m y == s *m x.

Lemma accepts_error (R : comRingType) m n b kappa (rho : 'M[R]_(m, kappa)) (W : 'M[R]_(m, n))
    (x : 'M[R]_(n, b)) y :
  accepts rho (companion rho W) x y = (rho^T *m (y - W *m x) == 0).
Proof. by rewrite /accepts /companion mulmxBr mulmxA subr_eq0. Qed.

Lemma accepts_shift (R : comRingType) m n b kappa (rho : 'M[R]_(m, kappa)) (W : 'M[R]_(m, n))
    (x : 'M[R]_(n, b)) E :
  accepts rho (companion rho W) x (W *m x + E) = (rho^T *m E == 0).
Proof. by rewrite accepts_error addrAC subrr add0r. Qed.

Lemma accepts_honest (R : comRingType) m n b kappa (rho : 'M[R]_(m, kappa)) (W : 'M[R]_(m, n))
    (x : 'M[R]_(n, b)) :
  accepts rho (companion rho W) x (W *m x).
Proof. by rewrite accepts_error subrr mulmx0. Qed.

(* ------------------------------------------------------------------ a fixed error, a field *)
Section Field.
Variable F : finFieldType.

(* The kappa x M matrices whose rows lie in the row space of A. *)
Lemma card_submx p M kappa (A : 'M[F]_(p, M)) :
  #|[set U : 'M[F]_(kappa, M) | (U <= A)%MS]| = (#|F| ^ (kappa * \rank A))%N.
Proof.
rewrite -card_mx -cardsT -(card_imset _ (row_free_inj (row_base_free A))) ; last first.
apply: eq_card => U; rewrite !inE; apply/idP/imsetP.
  by rewrite -(eq_row_base A) => /submxP[X ->]; exists X.
by case=> X _ ->; rewrite (submx_trans (submxMl _ _)) // eq_row_base.
Qed.

Variables (M n b kappa : nat).
Implicit Types (W : 'M[F]_(M, n)) (x : 'M[F]_(n, b)) (E : 'M[F]_(M, b)).

(* The number of rho that accept a reply with the error E. *)
Lemma card_accept W x E :
  #|[set rho : 'M[F]_(M, kappa) | accepts rho (companion rho W) x (W *m x + E)]|
    = (#|F| ^ (kappa * (M - \rank E)))%N.
Proof.
rewrite -mxrank_ker -card_submx -(card_imset _ (@trmx_inj _ _ _)).
apply: eq_card => U; rewrite !inE; apply/imsetP/idP.
  case=> rho; rewrite inE accepts_shift => /eqP e ->.
  by rewrite sub_kermx e.
rewrite sub_kermx => /eqP e; exists U^T; rewrite ?trmxK // inE accepts_shift.
by rewrite trmxK e.
Qed.

Lemma rank_le_rows E : (\rank E <= M)%N.
Proof. exact: rank_leq_row. Qed.

Lemma Pr_accept W x E :
  Pr (@uniform [finType of 'M[F]_(M, kappa)])
     (fun rho => accepts rho (companion rho W) x (W *m x + E))
    = (#|F|%:R ^+ (kappa * \rank E))^-1.
Proof.
have F_gt0 : (0 < #|F|)%N by apply/card_gt0P; exists 0.
rewrite Pr_uniform -[in X in X / _]cardsE card_accept card_mx -natrX (mulnC M).
rewrite -[in X in _ / X](subnK (rank_le_rows E)) mulnDr expnD natrM invfM mulrA divff ?mul1r //.
by rewrite pnatr_eq0 -lt0n expn_gt0 F_gt0.
Qed.

(* A nonzero error is accepted with probability at most |F|^-kappa ... *)
Lemma Pr_accept_le W x E : E != 0 ->
  Pr (@uniform [finType of 'M[F]_(M, kappa)])
     (fun rho => accepts rho (companion rho W) x (W *m x + E))
    <= (#|F|%:R ^+ kappa)^-1.
Proof.
move=> E_neq0; have F_gt0 : (0 < #|F|)%N by apply/card_gt0P; exists 0.
rewrite Pr_accept lef_pinv ?posrE ?exprn_gt0 ?ltr0n //.
by apply: ler_weexpn2l; rewrite ?ler1n // leq_pmulr // lt0n mxrank_eq0.
Qed.

End Field.

(* A single wrong column is accepted with probability exactly |F|^-kappa. *)
Lemma rank_column (F : fieldType) M (e : 'cV[F]_M) : e != 0 -> \rank e = 1%N.
Proof.
move=> e_neq0; apply/eqP; rewrite eqn_leq rank_leq_col lt0n mxrank_eq0 e_neq0.
by [].
Qed.

Lemma Pr_accept_column (F : finFieldType) M n kappa (W : 'M[F]_(M, n)) (x : 'cV[F]_n)
    (e : 'cV[F]_M) : e != 0 ->
  Pr (@uniform [finType of 'M[F]_(M, kappa)])
     (fun rho => accepts rho (companion rho W) x (W *m x + e)) = (#|F|%:R ^+ kappa)^-1.
Proof. by move=> e_neq0; rewrite Pr_accept rank_column // muln1. Qed.

(* ----------------------------------------------------------------- a modulus of several primes *)
(* The product of events of the components, drawn independently. *)
Lemma Pr_family (A : finType) (T : A -> finType) (P : forall a, pred (T a)) :
  Pr (@uniform [finType of {dffun forall a, T a}]) (fun f => [forall a, P a (f a)])
    = \prod_a Pr (@uniform (T a)) (P a).
Proof.
rewrite Pr_uniform -[#|_|]/(#|[pred f : {dffun forall a, T a} | [forall a, P a (f a)]]|).
rewrite card_family_prod card_ffun_prod !natr_prod -prodf_div.
by apply: eq_bigr => a _; rewrite Pr_uniform.
Qed.

Lemma Pr_or_le (T : finType) (mu : T -> rat) (E E' : pred T) :
  (forall x, 0 <= mu x) -> Pr mu (fun x => E x || E' x) <= Pr mu E + Pr mu E'.
Proof.
move=> mu_ge0; rewrite /Pr (bigID E) /=; apply: ler_add.
  by rewrite le_eqVlt; apply/orP; left; apply/eqP; apply: eq_bigl => x; case: (E x); rewrite ?andbF.
rewrite [X in _ <= X](bigID E) /= ler_paddl ?sumr_ge0 //.
by rewrite le_eqVlt; apply/orP; left; apply/eqP; apply: eq_bigl => x; case: (E x); rewrite ?andbF.
Qed.

Lemma Pr_le (T : finType) (mu : T -> rat) (E E' : pred T) :
  (forall x, 0 <= mu x) -> (forall x, E x -> E' x) -> Pr mu E <= Pr mu E'.
Proof.
move=> mu_ge0 sub; rewrite /Pr [X in X <= _]big_mkcond [X in _ <= X]big_mkcond.
by apply: ler_sum => x _; case e: (E x); [rewrite sub|case: ifP].
Qed.

(* A group of m rows uses the first m rows of what was drawn: pid_mx m is (i == j). *)
Definition first_rows (F : ringType) (R m kappa : nat) (w : 'M[F]_(R, kappa)) : 'M[F]_(m, kappa) :=
  pid_mx m *m w.

Lemma first_rowsE (F : ringType) R m kappa (w : 'M[F]_(R, kappa)) (le_mR : (m <= R)%N) i a :
  first_rows m w i a = w (widen_ord le_mR i) a.
Proof.
rewrite mxE (bigD1 (widen_ord le_mR i)) //= mxE eqxx ltn_ord mul1r big1 ?addr0 // => j j_i.
rewrite mxE; case: eqP => [e|]; last by rewrite mul0r.
by case/eqP: j_i; apply: val_inj.
Qed.

Lemma rank_pad (F : fieldType) R m b (E : 'M[F]_(m, b)) : (m <= R)%N ->
  \rank ((pid_mx m : 'M[F]_(m, R))^T *m E) = \rank E.
Proof.
move=> le_mR; apply/eqP; rewrite eqn_leq mxrankM_maxr /=.
apply: leq_trans (mxrankM_maxr (pid_mx m : 'M[F]_(m, R)) _).
by rewrite tr_pid_mx mulmxA pid_mx_id // pid_mx_1 mul1mx.
Qed.

Section Planes.
Variables (h : nat) (p : 'I_h -> nat) (R kappa : nat) (G : finType) (M N : G -> nat).
Variable W_D : forall g, 'M[int]_(M g, N g).
Notation L := (modulus p).

(* A message asks for the product of one group with some columns; a reply has the group's rows. *)
Record message := Message { group : G; columns : nat; sent : 'M['Z_L]_(N group, columns) }.
Definition reply (x : message) := 'M['Z_L]_(M (group x), columns x).
Definition right_reply (x : message) : reply x := product (W_D (group x)) (sent x).

(* The secret w of the check: kappa combinations of R rows in each prime field. *)
Definition secrets : finType := plane_family p R kappa.

(* The check in one plane, and the verdict. *)
Definition plane_accepts (i : 'I_h) (w : 'M['F_(p i)]_(R, kappa)) (x : message) (y : reply x) :
    bool :=
  accepts (first_rows _ w) (companion (first_rows _ w) (field_mx (p i) (W_D (group x))))
          (plane_mx (p i) (sent x)) (plane_mx (p i) y).
Definition verdict (w : secrets) (x : message) (y : reply x) : bool :=
  [forall i, plane_accepts (w i) y].

Lemma card_secrets_gt0 : (0 < #|secrets|)%N.
Proof. by apply/card_gt0P; exists ([ffun i => 0] : plane_family p R kappa). Qed.

Hypotheses (p_prime : forall i, prime (p i)) (p_inj : injective p) (L_gt1 : (1 < L)%N).

Lemma verdict_right w x : verdict w (right_reply x).
Proof.
apply/forallP => i; rewrite /plane_accepts /right_reply plane_product ?p_dvd //.
exact: accepts_honest.
Qed.

Hypothesis M_le : forall g, (M g <= R)%N.

Lemma Pr_plane_accepts i x (E : reply x) :
  Pr (@uniform [finType of 'M['F_(p i)]_(R, kappa)])
     (fun w => plane_accepts w (right_reply x + E))
    = ((p i)%:R ^+ (kappa * \rank (plane_mx (p i) E)))^-1.
Proof.
rewrite -(rank_pad _ (M_le (group x))).
have -> : (p i)%:R = #|[finFieldType of 'F_(p i)]|%:R :> rat by rewrite card_Fp.
rewrite -(Pr_accept kappa (0 : 'M_(R, 1)) (0 : 'M_(1, columns x))).
apply: eq_bigl => w; rewrite /plane_accepts /right_reply planeD_mx ?p_dvd // plane_product ?p_dvd //.
by rewrite !accepts_shift /first_rows trmx_mul mulmxA.
Qed.

(* Exactly: the product over the primes of p^(-kappa rank), E by planes. *)
Theorem Pr_verdict x (E : reply x) :
  Pr (@uniform secrets) (fun w => verdict w (right_reply x + E))
    = \prod_i ((p i)%:R ^+ (kappa * \rank (plane_mx (p i) E)))^-1.
Proof.
rewrite (Pr_family (fun i (w : 'M['F_(p i)]_(R, kappa)) => plane_accepts w (right_reply x + E))).
by apply: eq_bigr => i _; apply: Pr_plane_accepts.
Qed.

(* No prime is less than least. *)
Variable least : nat.
Hypotheses (least_gt0 : (0 < least)%N) (least_le : forall i, (least <= p i)%N).
Notation passing := ((least%:R ^+ kappa)^-1 : rat).

Lemma passing_ge0 : 0 <= passing.
Proof. by rewrite invr_ge0 exprn_ge0 ?ler0n. Qed.

Theorem verdict_wrong x (y : reply x) : y != right_reply x ->
  Pr (@uniform secrets) (fun w => verdict w y) <= passing.
Proof.
move=> wrong; have E_neq0 : y - right_reply x != 0 by rewrite subr_eq0.
rewrite -[y](subrK (right_reply x)) addrC Pr_verdict; set E := y - _ in E_neq0 *.
have [i Ei_neq0] : exists i, plane_mx (p i) E != 0.
  apply/existsP; apply: contraR E_neq0; rewrite negb_exists => /forallP zero.
  apply/eqP/(planes_injective p_prime p_inj L_gt1)/ffunP => i; rewrite !ffunE.
  have /eqP -> : plane_mx (p i) E == 0 by have := zero i; rewrite negbK.
  by apply/matrixP=> j k; rewrite !mxE.
rewrite (bigD1 i) //=; set rest := \prod_(j | _) _.
have p_gt0 j : 0 < (p j)%:R :> rat by rewrite ltr0n prime_gt0.
have /andP[rest_ge0 rest_le1] : 0 <= rest <= 1.
  rewrite /rest; elim/big_ind: _ => [|a c /andP[? ?] /andP[? ?]|j _]; first by rewrite ler01 lexx.
    by rewrite mulr_ge0 ?mulr_ile1.
  rewrite invr_ge0 exprn_ge0 ?(ltW (p_gt0 j)) //= invf_le1 ?exprn_gt0 // exprn_ege1 //.
  by rewrite ler1n prime_gt0.
have pos : 0 < (p i)%:R ^+ (kappa * \rank (plane_mx (p i) E)) :> rat by rewrite exprn_gt0.
apply: (@le_trans _ _ ((p i)%:R ^+ (kappa * \rank (plane_mx (p i) E)))^-1).
  by rewrite -[X in _ <= X]mulr1 ler_wpmul2l // invr_ge0 ltW.
rewrite lef_pinv ?posrE ?exprn_gt0 ?ltr0n ?(prime_gt0 (p_prime i)) //.
apply: (@le_trans _ _ ((p i)%:R ^+ kappa)); first by rewrite ler_expn2r ?nnegrE ?ler0n ?ler_nat.
by apply: ler_weexpn2l; rewrite ?ler1n ?prime_gt0 // leq_pmulr // lt0n mxrank_eq0.
Qed.

(* ------------------------------------------------------------- one secret for all that is checked *)
(* A reply to a message, and what is asked for next after what was asked and the verdicts: a
   strategy plays all hosts, in all sessions, open at the same time or not, and Charlie's part as
   well; it knows everything but w. *)
Definition item : Type := {x : message & reply x}.
Definition wrong (m : item) : bool := tagged m != right_reply (tag m).
Definition strategy : Type := seq (item * bool) -> option item.

(* Of at most T replies, Q of them wrong, some wrong one is accepted. *)
Fixpoint deceived (s : strategy) (Q T : nat) (seen : seq (item * bool)) (w : secrets) : bool :=
  if T isn't T'.+1 then false else
  if s seen isn't Some m then false else
  let v := verdict w (tagged m) in
  if wrong m
  then if Q is Q'.+1 then v || deceived s Q' T' (rcons seen (m, v)) w else false
  else deceived s Q T' (rcons seen (m, v)) w.

Theorem deceived_bound (s : strategy) Q T seen :
  Pr (@uniform secrets) (deceived s Q T seen) <= Q%:R * passing.
Proof.
have never n : Pr (@uniform secrets) xpred0 <= n%:R * passing.
  by rewrite /Pr big_pred0_eq mulr_ge0 ?ler0n ?passing_ge0.
elim: T Q seen => [|T IH] Q seen /=; first exact: never.
case: (s seen) => [m|]; last exact: never.
case w_m: (wrong m); last first.
  move: w_m => /negbFE/eqP right_m; apply: le_trans (IH Q (rcons seen (m, true))).
  by apply: Pr_le (@uniform_ge0 _) _ => w; rewrite right_m verdict_right.
case: Q => [|Q]; first exact: never.
rewrite mulrS mulrDl mul1r.
apply: le_trans (ler_add (verdict_wrong w_m) (IH Q (rcons seen (m, false)))).
apply: le_trans (Pr_or_le _ _ (@uniform_ge0 _)); apply: Pr_le (@uniform_ge0 _) _ => w.
by case: (verdict w (tagged m)).
Qed.

End Planes.

(* ------------------------------------------------------------------------ composite moduli *)
Section Composite.
Variable L : nat.
Hypothesis L_gt1 : (1 < L)%N.
Notation p := (pdiv L).

Lemma natr_eq0 a : ((a%:R : 'Z_L) == 0) = (L %| a)%N.
Proof. by rewrite -val_eqE /= val_Zp_nat. Qed.

Lemma coprime_below d : (0 < d < p)%N -> coprime d L.
Proof.
case/andP=> d_gt0 lt_dp; apply: contraLR lt_dp; rewrite -leqNgt /coprime => g_neq1.
apply: leq_trans (dvdn_leq d_gt0 (dvdn_gcdl d L)).
by apply: pdiv_min_dvd (dvdn_gcdr d L); rewrite ltn_neqAle eq_sym g_neq1 gcdn_gt0 d_gt0.
Qed.

Lemma small_multiple (j k : nat) (x : 'Z_L) :
  (j < p)%N -> (k < p)%N -> x != 0 -> j%:R * x = k%:R * x -> j = k.
Proof.
wlog le_kj : j k / (k <= j)%N => [wlog|] j_lt k_lt x_neq0 e.
  by case: (leqP k j) => [/wlog->//|/ltnW /wlog H]; apply/esym/H.
apply/eqP; rewrite eqn_leq le_kj andbT leqNgt; apply/negP => lt_kj.
have : (j - k)%:R * x == 0 by rewrite natrB // mulrBl e subrr.
rewrite -[x]natr_Zp -natrM natr_eq0 Gauss_dvdr; last first.
  by rewrite coprime_sym coprime_below // subn_gt0 lt_kj (leq_ltn_trans (leq_subr _ _)).
by rewrite -natr_eq0 natr_Zp (negPf x_neq0).
Qed.

Variable M : nat.
Implicit Types (e : 'cV['Z_L]_M) (rho : 'cV['Z_L]_M).

Definition killing e := [set rho : 'cV['Z_L]_M | rho^T *m e == 0].

Lemma dot_shift e rho i (a : 'Z_L) :
  (rho + a *: delta_mx i 0)^T *m e = rho^T *m e + (a * e i 0)%:M.
Proof.
rewrite linearD /= mulmxDl; congr (_ + _); rewrite linearZ /= trmx_delta -scalemxAl -rowE.
by apply/matrixP=> j k; rewrite !ord1 !mxE.
Qed.

(* Whatever the error, at most one rho in p is a solution, p the smallest prime factor of L. *)
Lemma composite_bound e : e != 0 ->
  (#|killing e| * p <= #|[finType of 'cV['Z_L]_M]|)%N.
Proof.
move=> e_neq0; have [i ei_neq0] : exists i, e i 0 != 0.
  apply/existsP; apply: contraR e_neq0; rewrite negb_exists => /forallP e0.
  by apply/eqP/matrixP=> i j; rewrite ord1 mxE; apply/eqP; have := e0 i; rewrite negbK.
pose phi (z : 'cV['Z_L]_M * 'I_p) := z.1 + (z.2 : nat)%:R *: delta_mx i 0 : 'cV['Z_L]_M.
rewrite -[p in (_ * p)%N]card_ord -[#|'I_p|]cardsT -cardsX -(card_in_imset (f := phi)).
  exact: max_card.
case=> rho j [rho' j']; rewrite !inE !andbT /= => /eqP rho0 /eqP rho'0 eq_phi.
have : (phi (rho, j))^T *m e = (phi (rho', j'))^T *m e by rewrite eq_phi.
rewrite !dot_shift rho0 rho'0 !add0r => /matrixP/(_ 0 0); rewrite !mxE !eqxx !mulr1n => ej.
have ejj : j = j' by apply: val_inj; apply: small_multiple ej.
by move: eq_phi; rewrite /phi ejj /= => /addIr ->.
Qed.

(* And the chosen error L/p in one entry attains it. *)
Lemma composite_attained (i : 'I_M) :
  let e := (L %/ p)%:R *: delta_mx i 0 : 'cV['Z_L]_M in
  e != 0 /\ (#|killing e| * p)%N = #|[finType of 'cV['Z_L]_M]|.
Proof.
move=> e; have p_dvd : (p %| L)%N by apply: pdiv_dvd.
have p_gt0 : (0 < p)%N by apply: pdiv_gt0.
have p_gt1 : (1 < p)%N by apply: prime_gt1; apply: pdiv_prime.
have e_i : e i 0 = (L %/ p)%:R by rewrite !mxE ?eqxx mulr1.
have dot_e rho : rho^T *m e = (rho i 0 * (L %/ p)%:R)%:M.
  rewrite -[rho in LHS](subrK (rho i 0 *: delta_mx i 0)) dot_shift e_i.
  rewrite [X in X + _](_ : _ = 0) ?add0r //; apply/matrixP=> j k; rewrite !mxE.
  apply: big1 => l _; rewrite !mxE !ord1 ?eqxx ?andbT; case: eqP => [->|_]; last by rewrite !mulr0.
  by rewrite mulr1 subrr mul0r.
have e_neq0 : e != 0.
  have Lp_gt0 : (0 < L %/ p)%N by rewrite divn_gt0 // dvdn_leq // ltnW.
  apply/eqP => e0; have /eqP := e_i; rewrite e0 mxE eq_sym natr_eq0 => /(dvdn_leq Lp_gt0).
  by rewrite leqNgt ltn_Pdiv // ltnW.
split=> //; apply/eqP; rewrite eqn_leq composite_bound //=.
pose entry (rho : 'cV['Z_L]_M) : nat := rho i 0.
have rem_lt rho : (entry rho %% p < p)%N by rewrite ltn_mod.
pose psi (rho : 'cV['Z_L]_M) :=
  (rho - (entry rho %% p)%N%:R *: delta_mx i 0 : 'cV['Z_L]_M, Ordinal (rem_lt rho)).
have psi_inj : injective psi.
  by move=> rho rho' [e1 e2]; move: e1; rewrite e2 => /addIr.
rewrite -[p in (_ * p)%N]card_ord -[#|'I_p|]cardsT -cardsX -(card_imset _ psi_inj).
apply/subset_leq_card/subsetP => _ /imsetP[rho _ ->]; rewrite !inE andbT /= dot_e.
apply/eqP/matrixP=> j k; rewrite !ord1 !mxE !eqxx mulr1n mulr1.
rewrite -[X in X - _](natr_Zp) -natrB ?leq_mod // -natrM; apply/eqP; rewrite natr_eq0.
rewrite -[X in (X %| _)%N](divnK p_dvd) mulnC dvdn_mul //.
by rewrite -/(entry rho) {1}(divn_eq (entry rho) p) addnK dvdn_mull.
Qed.

End Composite.

Lemma power_of_two_half e : (0 < e)%N -> forall (M : nat) (i : 'I_M),
  let error : 'cV['Z_(2 ^ e)]_M := (2 ^ e.-1)%:R *: delta_mx i 0 in
  error != 0 /\
  Pr (@uniform [finType of 'cV['Z_(2 ^ e)]_M]) (fun rho => rho^T *m error == 0) = 2%:R^-1.
Proof.
case: e => // e _ M i; have pow_gt1 : (1 < 2 ^ e.+1)%N by rewrite -[1%N](expn0 2) ltn_exp2l.
have := composite_attained pow_gt1 i.
rewrite pdiv_pfactor // [in (_ %/ 2)%N]expnS mulKn // [e.+1.-1]/=.
case=> error_neq0 attained; split=> //; rewrite Pr_uniform -attained natrM invfM mulrA.
have card_gt0 : (0 < #|[finType of 'cV['Z_(2 ^ e.+1)]_M]|)%N by apply/card_gt0P; exists 0.
rewrite -[in X in X / _]cardsE -/(killing _) divff ?mul1r // pnatr_eq0 -lt0n.
by move: card_gt0; rewrite -attained muln_gt0 => /andP[].
Qed.

(* ------------------------------------------------------------------------- the lifted check *)
Section Lifted.
Variables (e s M N b kappa : nat).
Notation R := 'Z_(2 ^ (e + s)).

(* rho has entries in [0, 2^s), products and masks are taken mod 2^(e+s). *)
Definition lifted_rho (rho : 'M['I_(2 ^ s)]_(M, kappa)) : 'M[R]_(M, kappa) :=
  map_mx (fun a : 'I_(2 ^ s) => (a : nat)%:R) rho.

Definition lifted_accepts (rho : 'M['I_(2 ^ s)]_(M, kappa)) (W : 'M[R]_(M, N)) (x : 'M[R]_(N, b))
    (y : 'M[R]_(M, b)) : bool :=
  accepts (lifted_rho rho) (companion (lifted_rho rho) W) x y.

(* The error is visible in the low e bits of some entry. *)
Definition low_error (d : 'M[R]_(M, b)) : bool :=
  [exists i, exists j, ~~ (2 ^ e %| (d i j : nat))%N].

Lemma lifted_gt1 : (0 < e)%N -> (1 < 2 ^ (e + s))%N.
Proof. by move=> e_gt0; rewrite -[1%N](expn0 2) ltn_exp2l // addn_gt0 e_gt0. Qed.

Lemma lifted_cancel (a c : nat) (x : R) : (0 < e)%N ->
  (a < 2 ^ s)%N -> (c < 2 ^ s)%N -> ~~ (2 ^ e %| (x : nat))%N -> a%:R * x = c%:R * x -> a = c.
Proof.
move=> e_gt0; wlog le_ca : a c / (c <= a)%N => [wlog|] a_lt c_lt x_low eq_ax.
  by case: (leqP c a) => [/wlog->//|/ltnW /wlog H]; apply/esym/H.
apply/eqP; rewrite eqn_leq le_ca andbT leqNgt; apply/negP => lt_ca.
have d_gt0 : (0 < a - c)%N by rewrite subn_gt0.
have x_gt0 : (0 < x)%N by rewrite lt0n; apply: contraNneq x_low => ->; rewrite dvdn0.
have : (a - c)%:R * x == 0 by rewrite natrB // mulrBl eq_ax subrr.
rewrite -[x]natr_Zp -natrM natr_eq0 ?lifted_gt1 // pfactor_dvdn ?muln_gt0 ?d_gt0 //.
rewrite lognM // leqNgt => /negP; apply.
have log_d : (logn 2 (a - c) < s)%N.
  rewrite ltnNge -pfactor_dvdn //; apply/negP => /dvdn_leq -/(_ d_gt0).
  by rewrite leqNgt (leq_ltn_trans (leq_subr _ _)).
have log_x : (logn 2 x < e)%N by rewrite ltnNge -pfactor_dvdn.
by lia.
Qed.

(* At most one key in 2^(s kappa) accepts. *)
Lemma lifted_bound (W : 'M[R]_(M, N)) (x : 'M[R]_(N, b)) (d : 'M[R]_(M, b)) :
  (0 < e)%N -> low_error d ->
  (#|[set rho | lifted_accepts rho W x (W *m x + d)]| * (2 ^ s) ^ kappa
     <= #|[finType of 'M['I_(2 ^ s)]_(M, kappa)]|)%N.
Proof.
move=> e_gt0 /existsP[i /existsP[j d_low]].
have -> : ((2 ^ s) ^ kappa)%N = #|[set: 'rV['I_(2 ^ s)]_kappa]|.
  by rewrite cardsT card_mx mul1n card_ord.
rewrite -cardsX.
pose phi (z : 'M['I_(2 ^ s)]_(M, kappa) * 'rV['I_(2 ^ s)]_kappa) :=
  \matrix_(l, c) (if l == i then z.2 0 c else z.1 l c).
rewrite -(card_in_imset (f := phi)); first exact: max_card.
case=> rho a [rho' a']; rewrite !inE !andbT /lifted_accepts !accepts_shift /=.
move=> /eqP/matrixP rho0 /eqP/matrixP rho'0 /matrixP eq_phi.
have off l c : l != i -> rho l c = rho' l c.
  by move=> l_i; have := eq_phi l c; rewrite !mxE (negPf l_i).
have ea : a = a'.
  by apply/matrixP=> z c; rewrite ord1; have := eq_phi i c; rewrite !mxE eqxx.
rewrite ea; congr (_, _); apply/matrixP=> l c; case: (eqVneq l i) => [->|]; last exact: off.
apply: val_inj; apply: (lifted_cancel e_gt0 (ltn_ord _) (ltn_ord _) d_low).
have := rho'0 c j; have := rho0 c j; rewrite !mxE (bigD1 i) //= [in X in _ -> X](bigD1 i) //=.
rewrite !mxE (eq_bigr (fun l => (lifted_rho rho')^T c l * d l j)); last first.
  by move=> k k_i; rewrite !mxE (off k c k_i).
by move=> h1 h2; apply: addIr (etrans h1 (esym h2)).
Qed.

Lemma Pr_lifted_le (W : 'M[R]_(M, N)) (x : 'M[R]_(N, b)) (d : 'M[R]_(M, b)) :
  (0 < e)%N -> low_error d ->
  Pr (@uniform [finType of 'M['I_(2 ^ s)]_(M, kappa)])
     (fun rho => lifted_accepts rho W x (W *m x + d)) <= ((2 ^ s)%:R ^+ kappa)^-1.
Proof.
move=> e_gt0 d_low; have bound := lifted_bound W x e_gt0 d_low.
have pow_gt0 : (0 < 2 ^ s)%N by rewrite expn_gt0.
rewrite Pr_uniform -[in X in X / _]cardsE -natrX card_mx card_ord.
rewrite ler_pdivr_mulr ?ltr0n ?expn_gt0 ?pow_gt0 // mulrC ler_pdivl_mulr ?ltr0n ?expn_gt0 ?pow_gt0
  //.
by rewrite -natrM ler_nat; move: bound; rewrite card_mx card_ord.
Qed.

End Lifted.
